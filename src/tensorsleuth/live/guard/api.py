"""The functions that users call to stop a program when a bad value begins to matter."""

from __future__ import annotations

import atexit
from typing import Any

from tensorsleuth.core.errors import SettingsError
from tensorsleuth.recording import api as recording
from tensorsleuth.recording.handle import Handle
from tensorsleuth.recording.harmless import complain

_active: Guard | None = None


class Guard(Handle):
    """An active guard. It ends with `close()`, with its `with` block, or with the program."""

    def __init__(self, strict: bool, guardian: Any) -> None:
        self.strict = strict
        self._guardian = guardian

    def close(self) -> None:
        """Stop the guard. Closing twice does nothing."""
        global _active
        with recording.changing():
            guardian, self._guardian = self._guardian, None
        if guardian is None:
            return
        _active = None
        with recording.changing_recorder():
            recording.set_guardian(None)
            try:
                guardian.stand_back()
            except Exception as error:
                complain(f"the guard did not end cleanly: {error!r}")

    def _end(self) -> None:
        self.close()


def guard(strict: bool = False) -> Guard:
    """Raise `NumericsError`, with an explanation, as soon as a NaN or infinity matters. It writes no files.

    A bad value matters if it reaches a variable, a loss whose gradient is computed, an output of a function, or a
    Python number. Masked values never raise, nor do infinities that the program itself wrote.

    Args:
        strict: raise as soon as an op produces a bad value, even if a later op would mask it.
    """
    with recording.changing():
        return _same(strict) or _start(strict)


def _same(strict: bool) -> Guard | None:
    """Return the active guard, if any. Raise SleuthError if its settings differ."""
    if _active is not None and _active.strict != strict:
        raise SettingsError(
            f"A guard is active with other settings: strict is {_active.strict}, not {strict}. "
            "Close it first (disable_check_numerics(), or the guard's close())."
        )
    return _active


def _start(strict: bool) -> Guard:
    global _active
    recording.require_tensorflow()
    from tensorsleuth.live.guard.guardian import GuardRecorder, abandon_in_child

    guard_recorder = GuardRecorder(strict)
    with recording.changing_recorder():
        running = recording.set_guardian(guard_recorder)
        try:
            guard_recorder.join(running) if running is not None else guard_recorder.stand_alone()
        except BaseException:
            recording.set_guardian(None)
            raise
    _active = Guard(strict, guard_recorder)
    abandon_in_child(guard_recorder)
    atexit.register(_active.close)
    return _active


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """`tf.debugging.enable_check_numerics`, with our explanation: `guard(strict=True)`.

    Args:
        stack_height_limit: accepted for compatibility. The explanation shows one line, the user's.
        path_length_limit: accepted for compatibility. Paths are relative to the current directory.
    """
    guard(strict=True)


def disable_check_numerics() -> None:
    """Stop the active guard, if any."""
    if _active is not None:
        _active.close()
