"""The exception that ended the program, read when the recording closes, and those that ended its threads."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.harmless import harmless

if TYPE_CHECKING:  # it imports TensorFlow, which the program may not use
    from tensorsleuth.recording.refused_inputs import RefusedInputs

MAX_MESSAGE_LENGTH = 2000


def uncaught_exception() -> BaseException | None:
    """Return the uncaught exception, if any. Python stores it before it calls the exit handlers."""
    if hasattr(sys, "ps1") or sys.flags.interactive:  # an interactive Python stores it too, and continues
        return None
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return error if isinstance(error, BaseException) else None


def describe_exception(error: BaseException, call_sites: CallSites, refused: RefusedInputs) -> dict[str, Any]:
    """Its type, message and line; of one about shapes, also which met."""
    frames = [(at.f_code.co_filename, line, at.f_code.co_name) for at, line in traceback.walk_tb(error.__traceback__)]
    site = call_sites.intern(frames) if frames else 0
    described = {"type": type(error).__name__, "message": str(error)[:MAX_MESSAGE_LENGTH], "site": site}
    return described | {"refused": refused.of(error)}


class ThreadExceptions:
    """Reports uncaught exceptions of threads, in addition to any existing hook."""

    def __init__(self, tell: Callable[[BaseException], None]) -> None:
        self._tell = tell
        self._before = threading.excepthook
        threading.excepthook = self._hook = self._died  # a single object, so that `close` can recognise it

    def _died(self, what: threading.ExceptHookArgs) -> None:
        if what.exc_value is not None:
            harmless(self._tell, what.exc_value)
        self._before(what)

    def close(self) -> None:
        """Restore the hook. If another hook was set after ours, it keeps calling us, and we call the one before."""
        self._tell = _ignore
        if threading.excepthook is self._hook:
            threading.excepthook = self._before


def _ignore(error: BaseException) -> None:
    return None
