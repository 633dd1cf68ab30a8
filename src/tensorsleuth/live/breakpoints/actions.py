"""Actions when a condition holds: pause, record in full, save the step, stop, call a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorsleuth.core.errors import BreakError, SleuthError
from tensorsleuth.live.breakpoints.breakpoint import Breakpoint
from tensorsleuth.live.breakpoints.hit import Hit
from tensorsleuth.live.breakpoints.tensor_in_memory import TensorInMemory
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.observer import Alarm
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.trace.storage.size_plan import VALUE_BYTES


class ActionRunner:
    """Runs the action of a break point, on the thread that computed the tensor."""

    def __init__(self, breaks: Any) -> None:
        self._breaks = breaks
        self._pauses: Any = None  # created by the first pause

    @property
    def pauses(self) -> Any:
        if self._pauses is None:
            from tensorsleuth.live.breakpoints.pause.pause import PauseController

            self._pauses = PauseController(self._breaks)
        return self._pauses

    def close(self) -> None:
        """Release a paused program when it ends."""
        if self._pauses is not None:
            self._pauses.close()

    def joined(self, recorder: Recorder) -> None:
        """Note that a new recorder has become active."""
        if self._pauses is not None:
            self._pauses.joined(recorder)

    def act(self, point: Breakpoint, hit: Hit, tensor_in_memory: TensorInMemory) -> Alarm:
        """Run the action. Return the exception to raise in the program, if any."""
        action = point.action
        if callable(action):
            return _call(action, hit)
        if action == "stop":
            return stop_error(hit)
        if action == "record":
            self._breaks.closely(point.steps_to_record)
        elif action == "save":
            _complain_on_failure(lambda: save_step(self._breaks.recorder, hit))
        elif action == "pause":
            return self.pauses.at(hit, tensor_in_memory)  # type: ignore[no-any-return]
        return None


def _call(action: Any, hit: Hit) -> Alarm:
    """Call the user's function and return its exception, which the program will get."""
    try:
        action(hit)
    except Exception as error:
        return error
    return None


def _complain_on_failure(action: Any) -> None:
    try:
        action()
    except (SleuthError, OSError) as error:
        complain(str(error))


def stop_error(hit: Hit) -> BreakError:
    return BreakError(f"break_when stopped the program: {hit}", hit)


def save_step(recorder: Any, hit: Hit) -> None:
    """Save the step of a hit, if the recorder can save steps."""
    if recorder is None or not recorder.save_step(hit.call):
        raise SleuthError(
            f"the step at {hit.place} (call {hit.call}) is not saved: only a recording on disk saves steps, and only "
            "calls of functions. Start one with tensorsleuth.record() or sleuth run, or use then='pause' there."
        )


def prepare_to_record(recorder: Any) -> None:
    """Make room for values in the current recording. Raise SleuthError if no recording on disk exists."""
    if recorder is None or not isinstance(recorder.folder, Path):
        raise SleuthError(
            "then='record' adds detail to a recording, and none is active: call tensorsleuth.record() first "
            "(mode NO_TENSOR costs least), or use sleuth run."
        )
    recorder.keep_values(VALUE_BYTES)
