"""The common part of `watch` and layer statistics: both summarize variables and gradients in each step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.live.watch.variables import WatchedVariables
from tensorsleuth.native import loader
from tensorsleuth.recording.backends.sink import tensor_view
from tensorsleuth.recording.eager import tape_gradients
from tensorsleuth.recording.functions.descriptions import captured_variables
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import Alarm, FunctionCall, Observer
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.structure.tensor_roles import TensorRoles, TracedGradients
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.graph_points import LETTERBOX_NAME


class SeriesObserver(Observer):
    """Observes a recording on disk that uses the native library. Subclasses choose what becomes a series."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._traced = TracedGradients()
        self._met: set[str] = set()  # functions whose variables were added
        self._native: loader.Native | None = None
        self._variables: WatchedVariables | None = None
        self.recorder: Recorder | None = None
        self.subjects = TensorRoles(self._traced, lambda uid: None)

    # ---- recordings

    def attach(self, recorder: Recorder) -> None:
        with self._lock:
            native = recorder.sink.native
            if self.recorder is not None or not self._can_watch(recorder) or native is None:
                return
            self.recorder, self._native = recorder, native
            self._variables = WatchedVariables(native)
            self.subjects = TensorRoles(self._traced, recorder.variables.path_of)
            self._met.clear()
            self._begin_recording(recorder, native)
            recorder.attach(self)

    def detach(self) -> None:
        with self._lock:
            step = self._trained_step()
            recorder, self.recorder = self.recorder, None
            if recorder is None or self._native is None:
                return
            recorder.observers.remove(self)
            harmless(self._end_step, step)
            self._end_recording(self._native)
            self._met.clear()
            recorder.detach(self)

    def _can_watch(self, recorder: Recorder) -> bool:
        raise NotImplementedError

    def _begin_recording(self, recorder: Recorder, native: loader.Native) -> None:
        raise NotImplementedError

    def _end_recording(self, native: loader.Native) -> None:
        raise NotImplementedError

    # ---- steps

    def on_step(self, this: int, following: int) -> None:
        self._end_step(this)
        self._begin_step(following)

    def on_call_end(self, call: FunctionCall, outputs: Sequence[Any], seen: bool) -> Alarm:
        """Read the variables after a function that trains, because it usually ends the step."""
        if call.trains:
            step = self._trained_step()
            if step >= 0:
                self._note_trained(step)
        return None

    def _begin_step(self, step: int) -> None:
        raise NotImplementedError

    def _note_trained(self, step: int) -> None:
        if self._variables is not None:
            self._variables.after_training(step)

    def _end_step(self, step: int) -> None:
        raise NotImplementedError

    def _trained_step(self) -> int:
        """Return the current step if it has trained, else -1."""
        steps = self.recorder.steps if self.recorder is not None else None
        return steps.number if steps is not None and steps.count > steps.number else -1

    # ---- variables, gradients

    def on_function(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> None:
        if name not in self._met:
            self._meet(name, find, inputs)

    def _meet(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """Add the variables of a function that is new."""
        if self.recorder is None:
            return
        self._met.add(name)
        for number, (variable, trainable) in captured_variables(find(), self.recorder.variables.path_of).items():
            is_ours = LETTERBOX_NAME in variable
            if number < len(inputs) and isinstance(inputs[number], tf.EagerTensor) and not is_ours:
                handle = inputs[number]
                self._add_variable(self._name_of(variable.removesuffix(":0"), handle), handle, trainable)

    def on_gradients(self, sources: Any, gradients: Any) -> Alarm:
        """Name gradients while a function is traced; measure them in eager code."""
        for source, gradient in tape_gradients.gradient_pairs(sources, gradients):
            if self.recorder is None or not self._follows(source):
                continue
            name = self._name_of(tape_gradients.source_name(source), tape_gradients.handle_of(source))
            self.recorder.variables.note_source(source)
            if isinstance(gradient, tf.EagerTensor):
                handle = tape_gradients.handle_of(source)
                if handle is not None:
                    self._add_variable(name, handle, True)
                self._saw_gradient(name, gradient)
            elif hasattr(gradient, "graph"):
                self._trace_gradient(name, gradient)
        return None

    def _follows(self, source: Any) -> bool:
        """Return whether the gradients of this source are measured."""
        return True

    def _name_of(self, name: str, handle: Any) -> str:
        return name

    def _add_variable(self, name: str, handle: Any, trainable: bool) -> None:
        raise NotImplementedError

    def _saw_gradient(self, name: str, gradient: Any) -> None:
        raise NotImplementedError

    def _trace_gradient(self, name: str, gradient: Any) -> None:
        self._traced.add(gradient, name)


def measure_eager(native: loader.Native, saw: Callable[..., Any], series: int, tensor: Any) -> None:
    """Measure an eager tensor of the latest recorded call."""
    view, array = tensor_view(tensor)
    saw(series, view, loader.RowPlace(native.latest_call(), 0, 0, 0, EventKind.EAGER))
    del array  # it kept the tensor's memory alive until here
