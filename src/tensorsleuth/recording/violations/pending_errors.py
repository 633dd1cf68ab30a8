"""Errors to raise in place of the one with which our op stops a call, by the number in its message."""

from __future__ import annotations

import itertools
import re

from tensorsleuth.core.threads.gc_pause import GcPauseLock
from tensorsleuth.recording.observer import Alarm

MAX_PENDING_ERRORS = 256
_ALARM_NUMBER = re.compile(r"tensorsleuth: violation (\d+) of an expectation")
_alarms: dict[int, BaseException] = {}
_numbers = itertools.count(1)
_lock = GcPauseLock()


def raise_later(error: BaseException) -> int:
    """Store an error and return its number. With the number in our op's message, Python finds the error."""
    with _lock:
        number = next(_numbers)
        _alarms[number] = error
        while len(_alarms) > MAX_PENDING_ERRORS:
            _alarms.pop(next(iter(_alarms)))
    return number


def numbered_message(error: BaseException, text: str) -> str:
    """Return the message to fail with. It finds the error in this process, and describes it in any other."""
    return f"tensorsleuth: violation {raise_later(error)} of an expectation\n{text}"


def alarm_in(message: str) -> Alarm:
    """Return the error to raise in place of our op's error; None if it is another error."""
    found = _ALARM_NUMBER.search(message)
    return _alarms.get(int(found[1])) if found is not None else None
