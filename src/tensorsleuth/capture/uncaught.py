"""The exception that ends the program, as Python has it when the recording closes."""

from __future__ import annotations

import sys
import traceback
from typing import Any

from tensorsleuth.capture.sites import Sites

LONGEST = 2000  # characters of a message


def uncaught() -> BaseException | None:
    """What nobody caught: Python keeps it when it has printed it, before it tells anybody that it ends."""
    if hasattr(sys, "ps1") or sys.flags.interactive:  # there it keeps what went wrong last, and goes on
        return None
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return error if isinstance(error, BaseException) else None


def describe(error: BaseException, sites: Sites) -> dict[str, Any]:
    """Its type, message and line."""
    frames = [(at.f_code.co_filename, line, at.f_code.co_name) for at, line in traceback.walk_tb(error.__traceback__)]
    site = sites.intern(frames) if frames else 0
    return {"type": type(error).__name__, "message": str(error)[:LONGEST], "site": site}
