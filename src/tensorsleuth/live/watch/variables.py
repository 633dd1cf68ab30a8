"""Watched variables: sampled when a training step ends, and compared with their values when it began.

This works alike for eager code, functions, loops, Keras, XLA and every optimizer. The earlier value costs one copy
of the variable in a sampled step: because we hold a reference to it, TensorFlow writes the new value elsewhere.
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
    """The series of a variable, with its schedule."""

    @property
    def series(self) -> Series: ...
    def is_due(self, step: int) -> bool:
        """Return whether the series is sampled in that step."""


@dataclass
class WatchedVariable:
    """A variable that is watched."""

    handle: Callable[[], Any]  # a weak reference
    dtype: int
    of_value: DueSeries | None
    of_update: DueSeries | None
    before: Any = None  # its value when the step began
    after: Any = None  # its latest value that was sampled in this step
    last_ended_step: int = -1  # the last step that ended for it

    def is_due(self, step: int) -> bool:
        return any(entry.is_due(step) for entry in (self.of_value, self.of_update) if entry is not None)

    def read(self) -> Any | None:
        """Return its value without a copy, or None if it has no value."""
        handle = self.handle()
        try:
            return tf_variables.read_handle(handle, self.dtype) if handle is not None else None
        except tf.TensorFlowErrors:  # not initialised yet
            return None


class WatchedVariables:
    """The watched variables, by the ids of their handles."""

    def __init__(self, native: loader.Native) -> None:
        self._native = native
        self._known: dict[int, WatchedVariable] = {}

    def add(self, handle: Any, dtype: int, of_value: DueSeries | None, of_update: DueSeries | None, step: int) -> None:
        """Watch a variable from the current step on. If it is watched already, only replace its series."""
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
        """Keep the values of all variables that are due in this step."""
        for uid, known in list(self._known.items()):
            if known.handle() is None:
                del self._known[uid]
            else:
                self._begin(known, step)

    def _begin(self, watched_variable: WatchedVariable, step: int) -> None:
        watched_variable.before = watched_variable.read() if watched_variable.is_due(step) else None

    def after_training(self, step: int) -> None:
        """Read the variables after the training function, since most steps end here and a kill may come later."""
        for known in list(self._known.values()):
            after = known.read() if known.is_due(step) and known.last_ended_step != step else None
            if after is not None and not _same(after, known.after):
                self._measure(known, after, step)
                known.after = after  # the reference makes later writes of the step go to other memory

    def end_step(self, step: int) -> None:
        """Sample the variables that were written since `after_training`, while the step's number is still current."""
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
        del array, earlier  # they kept the tensors' memory alive until here


def _same(one: Any, other: Any) -> bool:
    """Return whether two tensors share their memory."""
    if other is None:
        return False
    (first, held), (second, also) = tensor_view(one), tensor_view(other)
    same = bool(first.data == second.data)
    del held, also  # they kept the tensors' memory alive until here
    return same
