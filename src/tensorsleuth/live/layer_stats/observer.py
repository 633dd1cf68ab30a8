"""Looks into the model now and then, in every recording: attention, what leaves layers, gradients, updates, inputs.

It rides on the recorder as `watch` does, and writes rows like those of `watch` into files of its own. In steps in which
nothing is due, a probe reads one flag, and Python does nothing but ask for it; only rows of ids that go into the model
are hashed in every step (native/src/observers/input_rows.h).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.live.layer_stats.compiled import InsideCompiled
from tensorsleuth.live.layer_stats.eager import InsideEager
from tensorsleuth.live.layer_stats.functions import InsideFunctions
from tensorsleuth.live.layer_stats.inputs import InsideInputs
from tensorsleuth.live.layer_stats.selection import InsideSelection
from tensorsleuth.live.layer_stats.series import InsideBook, Schedule
from tensorsleuth.live.layer_stats.variable_names import VariableNames
from tensorsleuth.live.watch.variables import Variables
from tensorsleuth.native import loader
from tensorsleuth.recording.backends.sink import tensor_view
from tensorsleuth.recording.eager import tape_gradients
from tensorsleuth.recording.functions.descriptions import captured_variables
from tensorsleuth.recording.functions.probes import Placed
from tensorsleuth.recording.guard_protocol import Alarm
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.structure.tensor_roles import Subjects, TracedGradients
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.recording.tensorflow.graph_points import LETTERBOX

VARIABLE_BYTES = 256 << 20  # variables of more than that, together, are not compared to what they were before a step


@cache
def rider() -> Inside:
    """The one of this process."""
    return Inside()


class Inside:
    """Rides on the recording that there is, where that looks at values."""

    alone = False

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._traced = TracedGradients()
        self._names = VariableNames()
        self._recorder: Recorder | None = None
        self._is_due = False
        self._met: set[str] = set()  # functions whose variables are known
        self._room = 0  # bytes of variables that may still be compared

    # ---- where it looks

    def settle(self, recorder: Recorder) -> None:
        native = recorder.sink.native
        if self._recorder is not None or native is None or not _can(recorder):
            return
        with self._lock:
            self._recorder, self._native = recorder, native
            self._room = VARIABLE_BYTES
            self._met.clear()
            self._schedule = Schedule(recorder.settings.inside_every, lambda: recorder.steps.planned)
            self._book = InsideBook(native, recorder.catalog, recorder.folder, self._schedule)
            self._variables = Variables(native)
            subjects = Subjects(self._traced, recorder.variables.path_of)
            self._functions = InsideFunctions(recorder, native, self._book, subjects)
            self._inputs = InsideInputs(recorder, native, self._book)
            self._eager = InsideEager(recorder, native, self._book)
            self._compiled = InsideCompiled(recorder, native, self._book, subjects)
            native.inside_forget()
            self._begin(recorder.steps.number)
            recorder.hear_gradients(self, self._gradients)
            recorder.steps.moving[self] = lambda this, following: harmless(self._moving, this, following)
            recorder.callbacks.looking = self._eager.saw
            recorder.callbacks.met[self] = self._function
            recorder.callbacks.trained[self] = self._came_back
            if recorder.flights is not None:
                recorder.functions.looking = self._compiled.selection
                recorder.flights.looking = lambda call: self._is_due and self._compiled.wants(call)
            recorder.ride(self, lambda base: InsideSelection(recorder.settings, base, self))

    def leave(self) -> None:
        with self._lock:
            recorder, self._recorder = self._recorder, None
            if recorder is None:
                return
            for told in (recorder.steps.moving, recorder.callbacks.met, recorder.callbacks.trained):
                told.pop(self, None)
            recorder.callbacks.looking = None
            harmless(self._eager.ended)
            if recorder.flights is not None:
                recorder.flights.looking = None
            recorder.hear_gradients(self, None)
            if recorder.steps.count > recorder.steps.number:
                harmless(self._ended, recorder.steps.number)
            self._is_due = False
            self._native.inside_due(False)
            self._native.inside_forget()
            recorder.ride(self, None)

    def placed(self, placed: Placed) -> frozenset[str]:
        """A function is put in place; the tensors of it that are looked at."""
        return harmless(self._functions.placed, placed) or frozenset()

    # ---- steps

    def _begin(self, step: int) -> None:
        self._is_due = self._schedule.is_due(step)
        self._native.inside_due(self._is_due)
        if self._is_due:
            self._variables.begin(step)

    def _moving(self, this: int, following: int) -> None:
        if self._is_due:
            self._eager.ended()
        if this >= 0:
            self._ended(this)
        self._begin(following)

    def _ended(self, step: int) -> None:
        if self._is_due:
            self._variables.ended(step)

    def _came_back(self) -> None:
        """A function that trains has: nearly always this is how the step ends."""
        recorder = self._recorder
        if self._is_due and recorder is not None and recorder.steps.count > recorder.steps.number:
            self._variables.trained(recorder.steps.number)

    # ---- variables, gradients, inputs

    def _function(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """A function is about to be called."""
        recorder = self._recorder
        if recorder is None:
            return
        if name not in self._met:
            self._met.add(name)
            self._meet(name, find, inputs)
        self._inputs.look(name, find, inputs, self._is_due)

    def _meet(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """A function may have variables that nobody has met."""
        assert self._recorder is not None
        for number, (variable, trainable) in captured_variables(find(), self._recorder.variables.path_of).items():
            ours = LETTERBOX in variable
            if trainable and not ours and number < len(inputs) and isinstance(inputs[number], tf.EagerTensor):
                handle = inputs[number]
                self._variable(self._names.of(variable.removesuffix(":0"), handle), handle)

    def _variable(self, name: str, handle: Any) -> None:
        dtype = tf_variables.variable_dtype(handle)
        if self._recorder is None or dtype is None or not is_float(dtype) or self._variables.knows(handle):
            return
        size = tf_variables.variable_bytes(handle)
        self._room -= size
        of_value, of_update = self._book.find("variable", name), self._book.find("update", name)
        if self._room >= 0 and of_value is not None and of_update is not None:
            self._variables.add(handle, dtype, of_value, of_update, self._recorder.steps.number)

    def _gradients(self, sources: Any, gradients: Any) -> Alarm:
        """A tape has given gradients: named where a function is traced, looked at where code is eager."""
        for source, gradient in tape_gradients.pairs(sources, gradients):
            handle = tape_gradients.handle_of(source)
            if self._recorder is None or not tape_gradients.is_variable(source):
                continue
            name = self._names.of(tape_gradients.name_of(source), handle)
            self._recorder.variables.named(source)
            if isinstance(gradient, tf.EagerTensor):
                self._eager_gradient(name, handle, gradient)
            elif hasattr(gradient, "graph"):
                self._book.find("gradient", name)  # in the order in which they are asked for
                self._traced.add(gradient, name)
        if self._is_due and tf.executing_eagerly():
            self._eager.differentiated(gradients)
        return None

    def _eager_gradient(self, name: str, handle: Any, gradient: Any) -> None:
        if handle is not None:
            self._variable(name, handle)
        entry = self._book.find("gradient", name) if self._is_due else None
        if entry is not None:
            view, array = tensor_view(gradient)
            where = loader.Where(self._native.latest_call(), 0, 0, 0, EventKind.EAGER)
            self._native.inside_saw(entry.series.number, view, where)
            del array  # held its memory until here


def _can(recorder: Recorder) -> bool:
    """Does a recording look at values, and write to a disk."""
    looks = Mode.CURT_HEALTH <= recorder.settings.mode <= Mode.FULL_TENSOR
    return looks and recorder.settings.inside_every > 0 and isinstance(recorder.folder, Path)
