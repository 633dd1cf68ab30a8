"""The errors that users see as a sentence instead of a traceback."""

from __future__ import annotations


class SleuthError(Exception):
    """What went wrong, what was expected, one next step: the message is shown as it is."""


class TraceError(SleuthError):
    """A trace that cannot be read."""
