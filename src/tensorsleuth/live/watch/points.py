"""`watch` at a point in the code: for eager tensors, in graphs, and in graphs that XLA compiles."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import MeasureFlag
from tensorsleuth.live.watch.options import WatchRequest
from tensorsleuth.live.watch.series import WatchedEntry
from tensorsleuth.live.watch.watches import Watches
from tensorsleuth.native import loader
from tensorsleuth.recording.call_sites import caller_line
from tensorsleuth.recording.harmless import complain, harmless
from tensorsleuth.recording.tensorflow import graph_points, tracing
from tensorsleuth.recording.tensorflow import internals as tf

MAX_TEXTS, MAX_TEXT_BYTES = 64, 4096  # native/src/observers/watches.cc

_requests: dict[tuple[str, int, MeasureFlag], WatchRequest] = {}


def watch_point(watches: Watches, value: Any, name: str, every: int, measure_flag: MeasureFlag) -> None:
    """Sample an eager value now, or a tensor in a graph each time the graph runs."""
    if graph_points.is_keras_input(value):
        raise SleuthError(
            f"watch(name={name!r}): this is a symbolic tensor of Keras, which has no value until the model is called. "
            "Watch it in the call() of a layer, or by the layer's name: watch('layer:…')."
        )
    wanted = _requests.setdefault((name, every, measure_flag), WatchRequest(name, (), every, measure_flag))
    entry = watches.series("point", name, [wanted], *caller_line())
    if entry is None:
        return
    if graph_points.in_function() and graph_points.is_tensor(value):
        harmless(_in_graph, watches, entry, graph_points.as_tensor(value))
    else:
        harmless(_eager, watches, entry, value)


def _in_graph(watches: Watches, watched_entry: WatchedEntry, tensor: Any) -> None:
    if loader.load() is None or tracing.is_saving():
        return
    if not tracing.is_compiled():
        graph_points.put_op("SleuthPoint", [tensor], watched_entry.series.number)
    elif tensor.dtype.name == "string":
        complain(f"watch(name={watched_entry.series.name!r}): XLA has no strings; it is not watched there.")
    else:
        graph_points.post_from_compiled([tensor], lambda count, values: watches.measure(watched_entry, values[0]))


def _eager(watches: Watches, watched_entry: WatchedEntry, value: Any) -> None:
    tensor = graph_points.as_tensor(value)
    if tensor.dtype.name == "string":
        flat = tf.array_of(tensor).reshape(-1)[:MAX_TEXTS]
        watches.record_texts(
            watched_entry, [bytes(text)[:MAX_TEXT_BYTES] for text in flat.tolist()], tensor.shape.as_list()
        )
    else:
        watches.measure(watched_entry, tensor)
