"""The integer and boolean inputs of functions that train: ids, masks and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorsleuth.core.dtypes import DTYPES, DTypeKind, is_float
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.ops.kinds import INPUT_OPS
from tensorsleuth.live.layer_stats.series import LayerMeasure, LayerSeries, LayerSeriesRegistry
from tensorsleuth.native import loader
from tensorsleuth.recording.backends.sink import tensor_view
from tensorsleuth.recording.functions.probes import FunctionInstance
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.tensorflow import internals as tf

RANK_OF_ROWS = 2  # the rank of a batch of rows of ids
SelectedTensors = Iterator[tuple[str, LayerSeries | None]]  # a tensor of a function, and its series


class FunctionInputStats:
    """Measures what Python passes to a function: rows of ids in every step, other inputs in sampled steps."""

    def __init__(self, recorder: Recorder, native: loader.Native, book: LayerSeriesRegistry) -> None:
        self._recorder = recorder
        self._native = native
        self._book = book
        self._known: dict[str, dict[int, LayerSeries]] = {}  # function -> index of the argument -> series

    def look(self, name: str, find: Callable[[], Any], inputs: Sequence[Any], is_due: bool) -> None:
        """Measure the inputs of a function that is about to run."""
        if name not in self._known:
            self._known[name] = self._arguments(name, find, inputs)
        if not self._known[name]:
            return
        row_place = loader.RowPlace(self._native.latest_call(), 0, 0, 0, EventKind.EAGER)
        for number, entry in self._known[name].items():
            tensor = inputs[number] if number < len(inputs) else None
            if isinstance(tensor, tf.EagerTensor) and (is_due or len(tensor._shape_tuple()) == RANK_OF_ROWS):
                view, array = tensor_view(tensor)
                self._native.inside_rows(entry.series.number, view, row_place)
                self._native.inside_saw(entry.series.number, view, row_place)
                del array  # it kept the tensor's memory alive until here

    def _arguments(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> dict[int, LayerSeries]:
        graph = find()
        if self._recorder.functions.kind(name, lambda: graph) != "train":
            return {}
        found: dict[int, LayerSeries] = {}
        for number, argument in enumerate(tf.argument_names(graph)[: len(inputs)]):
            tensor = inputs[number]
            if isinstance(tensor, tf.EagerTensor) and is_integer_input(tensor._datatype_enum()):
                entry = self._book.find("input", f"{program_name(name)}/{argument}", LayerMeasure.INPUT)
                found |= {number: entry} if entry is not None else {}
        return found


def dataset_inputs(function_instance: FunctionInstance, book: LayerSeriesRegistry, trains: bool) -> SelectedTensors:
    """Yield the elements that a function itself takes from a dataset, as in Keras, validation included."""
    for number, node in enumerate(function_instance.definition.proto.node_def):
        outputs = list(function_instance.definition.output_names(number)) if node.op in INPUT_OPS else []
        names = _batch_names(function_instance.graph, len(outputs)) if outputs else []
        for (source, dtype), name in zip(outputs, names, strict=True):
            if is_integer_input(dtype):
                title = f"{program_name(function_instance.name)}/{name}"
                look = LayerMeasure.INPUT if trains else LayerMeasure.HELD_OUT
                yield source, book.find("input", title, look, trains=trains, op=node.name)


def is_integer_input(dtype: int) -> bool:
    """Return whether ids, masks or labels can have this dtype."""
    known = DTYPES.get(dtype)
    return known is not None and known.kind is not DTypeKind.OTHER and not is_float(dtype)


def _batch_names(graph: Any, count: int) -> list[str]:
    """Return the names of the parts of a batch that a function takes from a dataset."""
    names = tf.element_names(graph)
    return names if len(names) == count else [str(number) for number in range(count)]
