"""Watched variables: looked at when a training step has ended, and compared to what they were when it began.

So it is the same for eager code, functions, loops, Keras and XLA, and for every optimizer, however it writes. Values
from before are held by reference: whoever writes the variable leaves them alone, at the cost of a copy in such steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import ref

from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.series import Series
from tensorsleuth.native import loader
from tensorsleuth.recording.backends.sink import tensor_view
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables


class DueSeries(Protocol):
    """The measures of a variable."""

    @property
    def series(self) -> Series: ...
    def is_due(self, step: int) -> bool:
        """Return whether it is sampled in that step."""


@dataclass
class WatchedVariable:
    """A variable that is watched."""

    handle: Callable[[], Any]  # a weak reference
    dtype: int
    of_value: DueSeries | None
    of_update: DueSeries | None
    before: Any = None  # its value when the step began
    after: Any = None  # its value when it was last looked at in this step
    last_ended_step: int = -1  # the last step that has ended for it

    def is_due(self, step: int) -> bool:
        return any(entry.is_due(step) for entry in (self.of_value, self.of_update) if entry is not None)

    def read(self) -> Any | None:
        """Its value, sharing its memory; None where there is none."""
        handle = self.handle()
        try:
            return tf_variables.read_handle(handle, self.dtype) if handle is not None else None
        except tf.TensorFlowErrors:  # not initialised yet
            return None


class WatchedVariables:
    """The watched variables, by the numbers of their handles."""

    def __init__(self, native: loader.Native) -> None:
        self._native = native
        self._known: dict[int, WatchedVariable] = {}

    def add(self, handle: Any, dtype: int, of_value: DueSeries | None, of_update: DueSeries | None, step: int) -> None:
        """Watch one, from the step on that is under way; one that is watched already, for these series."""
        known = self._known.get(handle._id)
        if known is None or known.handle() is not handle:
            known = self._known[handle._id] = WatchedVariable(ref(handle), dtype, of_value, of_update)
        known.of_value, known.of_update = of_value, of_update
        if known.before is None:
            self._begin(known, step)

    def knows(self, handle: Any) -> bool:
        known = self._known.get(handle._id)
        return known is not None and known.handle() is handle

    def begin_step(self, step: int) -> None:
        """A step begins."""
        for uid, known in list(self._known.items()):
            if known.handle() is None:
                del self._known[uid]
            else:
                self._begin(known, step)

    def _begin(self, watched_variable: WatchedVariable, step: int) -> None:
        watched_variable.before = watched_variable.read() if watched_variable.is_due(step) else None

    def after_training(self, step: int) -> None:
        """Read the variables after the training function: the step usually ends here, and the program may be killed."""
        for known in list(self._known.values()):
            after = known.read() if known.is_due(step) and known.last_ended_step != step else None
            if after is not None and not _same(after, known.after):
                self._measure(known, after, step)
                known.after = after  # held, so that who writes it later in the step writes elsewhere

    def end_step(self, step: int) -> None:
        """A step has ended, and its number still stands: look again at what was written since."""
        self.after_training(step)
        for known in list(self._known.values()):
            known.before, known.after, known.last_ended_step = None, None, step

    def _measure(self, watched_variable: WatchedVariable, after: Any, step: int) -> None:
        entries = watched_variable.of_value, watched_variable.of_update
        numbers = [entry.series.number if entry is not None and entry.is_due(step) else 0 for entry in entries]
        view, array = tensor_view(after)
        before, earlier = tensor_view(watched_variable.before) if watched_variable.before is not None else (None, None)
        row_place = loader.RowPlace(self._native.latest_call(), 0, 0, 0, EventKind.EAGER)
        self._native.watch_variable(*numbers, view, before, row_place)
        del array, earlier  # held their memory until here


def _same(one: Any, other: Any) -> bool:
    """Do two tensors share their memory, or is there none in either."""
    if other is None:
        return False
    (first, held), (second, also) = tensor_view(one), tensor_view(other)
    same = bool(first.data == second.data)
    del held, also  # held their memory until here
    return same
