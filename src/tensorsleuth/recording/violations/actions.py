"""Actions on a violation: raise, warn once for each place, or only write it to the trace."""

from __future__ import annotations

import atexit
import contextlib
import sys
import warnings
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

from tensorsleuth.core.errors import ExpectationError, ExpectationWarning
from tensorsleuth.core.threads.gc_pause import GcPauseLock
from tensorsleuth.core.violation import OnViolation, Violation
from tensorsleuth.recording import api as recording
from tensorsleuth.recording.harmless import harmless

MAX_NOTED_IN_FULL = (
    20  # violations of one place that the trace has one by one; later ones are sampled, with their count
)
_lock = GcPauseLock()
_times: Counter[tuple[Any, ...]] = Counter()
_warned: dict[tuple[Any, ...], Violation] = {}  # the first violation of each place


def handle_violation(violation: Violation, how: OnViolation) -> ExpectationError | None:
    """Record a violation, and return the error to raise, if any. A warning may raise, by the program's filter."""
    key = violation.file, violation.line, violation.name, violation.rule
    with _lock:
        _times[key] += 1
        times = _times[key]
        first = how == "warn" and key not in _warned
        if first:
            _warned[key] = violation
    if times <= MAX_NOTED_IN_FULL or not times & (times - 1):
        harmless(_write_to_trace, replace(violation, times=times))
    if first:
        _warn(violation)
    return error_of(violation) if how == "raise" else None


def handle_or_raise(violation: Violation | None, how: OnViolation) -> None:
    """Record a violation, if there is one, and raise its error on the thread of the user's code."""
    error = handle_violation(violation, how) if violation is not None else None
    if error is not None:
        raise error


def _write_to_trace(violation: Violation) -> None:
    recorder = recording.active_recorder()
    if recorder is not None:
        recorder.note_violation(violation)


def error_of(violation: Violation) -> ExpectationError:
    """Return the error to raise. If TensorFlow is loaded, it is also one of TensorFlow's errors."""
    kind = _tensorflow_error_type() if "tensorflow" in sys.modules else ExpectationError
    return kind(violation.message, violation)


@cache
def _tensorflow_error_type() -> type[ExpectationError]:
    from tensorsleuth.recording.violations.error_types import as_tensorflow_error

    return as_tensorflow_error(ExpectationError)


def _warn(violation: Violation) -> None:
    _register_summary()
    text = f"{violation.sentence}." + (f" {violation.change}" if violation.change else "")
    warnings.warn_explicit(text, ExpectationWarning, violation.file or "<unknown>", violation.line or 1)


@cache
def _register_summary() -> None:
    atexit.register(_print_summary)


def _print_summary() -> None:
    """Print at the end of the program how often each warned violation came back."""
    again = [(one, _times[key]) for key, one in _warned.items() if _times[key] > 1]
    with contextlib.suppress(Exception):  # stderr may be closed
        for one, times in again:
            print(f"tensorsleuth: {one.place}: {one.name}: not {one.expected}, {times:,} times.", file=sys.stderr)
