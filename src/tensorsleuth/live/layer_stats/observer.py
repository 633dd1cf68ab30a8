"""Samples the model in every recording: attention, layer outputs, gradients, updates and inputs.

It observes the recorder as `watch` does, and writes similar rows into files of its own. In a step that is not sampled,
a probe reads one flag, and Python only checks whether the step is sampled. Rows of ids are the exception: the library
hashes them in every step (native/src/observers/input_rows.h).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.core.modes import Mode
from tensorsleuth.live.layer_stats.compiled import CompiledLayerStats
from tensorsleuth.live.layer_stats.eager import EagerLayerStats
from tensorsleuth.live.layer_stats.functions import FunctionLayerStats
from tensorsleuth.live.layer_stats.inputs import FunctionInputStats
from tensorsleuth.live.layer_stats.selection import LayerStatsSelection
from tensorsleuth.live.layer_stats.series import LayerSeriesRegistry, SampleSchedule
from tensorsleuth.live.layer_stats.variable_names import UniqueVariableNames
from tensorsleuth.live.series_observer import SeriesObserver, measure_eager
from tensorsleuth.native import loader
from tensorsleuth.recording.eager import tape_gradients
from tensorsleuth.recording.functions.probes import FunctionInstance, Selection
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.lazy import Lazy
from tensorsleuth.recording.observer import Alarm, FunctionCall
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables

MAX_COMPARED_BYTES = 256 << 20  # the most bytes of variables that a step compares with their earlier values


@cache
def layer_stats_observer() -> LayerStatsObserver:
    """Return the only instance in this process."""
    return LayerStatsObserver()


class LayerStatsObserver(SeriesObserver):
    """Observes the active recording if it records values."""

    selects_eager = False  # so that an op before the model has the same id after it

    def __init__(self) -> None:
        super().__init__()
        self._names = Lazy(UniqueVariableNames)
        self._is_due = False
        self._room = 0  # how many more bytes of variables it may compare

    # ---- recordings

    def _can_watch(self, recorder: Recorder) -> bool:
        looks = Mode.CURT_HEALTH <= recorder.settings.mode <= Mode.FULL_TENSOR
        return looks and recorder.settings.inside_every > 0 and isinstance(recorder.folder, Path)

    def _begin_recording(self, recorder: Recorder, native: loader.Native) -> None:
        self._room = MAX_COMPARED_BYTES
        self._schedule = SampleSchedule(recorder.settings.inside_every, lambda: recorder.steps.planned)
        self._book = LayerSeriesRegistry(native, recorder.catalog, recorder.folder, self._schedule)
        self._functions = Lazy(lambda: FunctionLayerStats(recorder, native, self._book, self.subjects))
        self._inputs = Lazy(lambda: FunctionInputStats(recorder, native, self._book))
        self._eager = Lazy(lambda: EagerLayerStats(recorder, native, self._book))
        self._compiled = Lazy(lambda: CompiledLayerStats(recorder, native, self._book, self.subjects))
        native.inside_forget()
        self._begin_step(recorder.steps.number)

    def _end_recording(self, native: loader.Native) -> None:
        self._is_due = False
        native.inside_due(False)
        native.inside_forget()

    def selection(self, base: Selection) -> Selection:
        return LayerStatsSelection(self.recorder.settings, base, self) if self.recorder is not None else base

    def replay_selection(self) -> Selection | None:
        has_replays = self.recorder is not None and self.recorder.can_replay
        return self._compiled().selection if has_replays else None

    def wants_replay(self, call: FunctionCall) -> bool:
        return self._is_due and self._compiled().wants(call)

    def placed(self, function_instance: FunctionInstance) -> frozenset[str]:
        """Return the measured tensors of a function for which the recorder has prepared a watched copy."""
        return harmless(self._functions().placed, function_instance) or frozenset()

    # ---- steps

    def _begin_step(self, step: int) -> None:
        self._is_due = self._schedule.is_due(step)
        if self._native is not None and self._variables is not None:
            self._native.inside_due(self._is_due)
            if self._is_due:
                self._variables.begin_step(step)

    def _note_trained(self, step: int) -> None:
        if self._is_due:
            super()._note_trained(step)

    def _end_step(self, step: int) -> None:
        if self._is_due:
            if self._eager.value is not None:
                self._eager.value.ended()
            if step >= 0 and self._variables is not None:
                self._variables.end_step(step)

    # ---- variables, gradients, inputs

    def on_function(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> None:
        if name not in self._met:
            self._meet(name, find, inputs)
        self._inputs().look(name, find, inputs, self._is_due)

    def on_eager_op(self, entry: int, args: tuple[Any, ...], result: Any, place: int) -> None:
        self._eager().saw(entry, args, result, place)

    def on_gradients(self, sources: Any, gradients: Any) -> Alarm:
        super().on_gradients(sources, gradients)
        if self._is_due and tf.executing_eagerly():
            self._eager().differentiated(gradients)
        return None

    def _follows(self, source: Any) -> bool:
        return tape_gradients.is_variable(source)

    def _name_of(self, name: str, handle: Any) -> str:
        return self._names().of(name, handle)

    def _add_variable(self, name: str, handle: Any, trainable: bool) -> None:
        dtype, known = tf_variables.variable_dtype(handle), self._variables
        if self.recorder is None or known is None or not trainable or dtype is None or not is_float(dtype):
            return
        if known.knows(handle):
            return
        self._room -= tf_variables.variable_bytes(handle)
        of_value, of_update = self._book.find("variable", name), self._book.find("update", name)
        if self._room >= 0 and of_value is not None and of_update is not None:
            known.add(handle, dtype, of_value, of_update, self.recorder.steps.number)

    def _trace_gradient(self, name: str, gradient: Any) -> None:
        self._book.find("gradient", name)  # creates the series in the order in which the program requests gradients
        super()._trace_gradient(name, gradient)

    def _saw_gradient(self, name: str, gradient: Any) -> None:
        entry = self._book.find("gradient", name) if self._is_due else None
        if entry is not None and self._native is not None:
            measure_eager(self._native, self._native.inside_saw, entry.series.number, gradient)
