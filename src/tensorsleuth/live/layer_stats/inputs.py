"""The integer and boolean inputs of functions that train: ids, masks and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorsleuth.core.dtypes import DTYPES, Kind, is_float
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.ops.kinds import INPUT
from tensorsleuth.live.layer_stats.series import InsideBook, InsideEntry, Look
from tensorsleuth.native import loader
from tensorsleuth.recording.backends.sink import tensor_view
from tensorsleuth.recording.functions.probes import Placed
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.tensorflow import internals as tf

ROWS = 2  # the rank of a batch of rows of ids
Found = Iterator[tuple[str, InsideEntry | None]]  # a tensor of a function, and the series that it belongs to


class InsideInputs:
    """Looks at what Python passes to a function: in steps that are due; in all, at rows of ids."""

    def __init__(self, recorder: Recorder, native: loader.Native, book: InsideBook) -> None:
        self._recorder = recorder
        self._native = native
        self._book = book
        self._known: dict[str, dict[int, InsideEntry]] = {}  # function -> number of the argument -> series

    def look(self, name: str, find: Callable[[], Any], inputs: Sequence[Any], is_due: bool) -> None:
        """A function is about to be called."""
        if name not in self._known:
            self._known[name] = self._arguments(name, find, inputs)
        if not self._known[name]:
            return
        where = loader.Where(self._native.latest_call(), 0, 0, 0, EventKind.EAGER)
        for number, entry in self._known[name].items():
            tensor = inputs[number] if number < len(inputs) else None
            if isinstance(tensor, tf.EagerTensor) and (is_due or len(tensor._shape_tuple()) == ROWS):
                view, array = tensor_view(tensor)
                self._native.inside_rows(entry.series.number, view, where)
                self._native.inside_saw(entry.series.number, view, where)
                del array  # held its memory until here

    def _arguments(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> dict[int, InsideEntry]:
        graph = find()
        if self._recorder.functions.kind(name, lambda: graph) != "train":
            return {}
        found: dict[int, InsideEntry] = {}
        for number, argument in enumerate(tf.argument_names(graph)[: len(inputs)]):
            tensor = inputs[number]
            if isinstance(tensor, tf.EagerTensor) and is_looked_at(tensor._datatype_enum()):
                entry = self._book.find("input", f"{program_name(name)}/{argument}", Look.INPUT)
                found |= {number: entry} if entry is not None else {}
        return found


def batches(placed: Placed, book: InsideBook, trains: bool) -> Found:
    """Return the elements that a function takes from a dataset by itself, as in Keras, validation included."""
    for number, node in enumerate(placed.definition.proto.node_def):
        outputs = list(placed.definition.names(number)) if node.op in INPUT else []
        names = _batch_names(placed.graph, len(outputs)) if outputs else []
        for (source, dtype), name in zip(outputs, names, strict=True):
            if is_looked_at(dtype):
                title = f"{program_name(placed.name)}/{name}"
                look = Look.INPUT if trains else Look.HELD_OUT
                yield source, book.find("input", title, look, trains=trains, op=node.name)


def is_looked_at(dtype: int) -> bool:
    """Return whether it is a dtype of ids, masks and labels."""
    known = DTYPES.get(dtype)
    return known is not None and known.kind is not Kind.OTHER and not is_float(dtype)


def _batch_names(graph: Any, count: int) -> list[str]:
    """Return the names of the parts of a batch that a function takes from a dataset."""
    names = tf.element_names(graph)
    return names if len(names) == count else [str(number) for number in range(count)]
