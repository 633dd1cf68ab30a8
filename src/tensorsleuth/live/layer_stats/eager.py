"""Layer statistics of eager code, in sampled steps. Their only source is the eager hook, which reports each op."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.core.ops.products import PRODUCTS
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.live.layer_stats.eager_input_names import input_name
from tensorsleuth.live.layer_stats.functions import user_line
from tensorsleuth.live.layer_stats.inputs import is_integer_input
from tensorsleuth.live.layer_stats.series import LayerMeasure, LayerSeries, LayerSeriesRegistry
from tensorsleuth.native import loader
from tensorsleuth.recording.backends.sink import tensor_view
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.structure.attention import attention_at, softmax_of
from tensorsleuth.recording.structure.attention_ops import SUM, scores_of
from tensorsleuth.recording.structure.eager_graph import (
    EagerLayerOutput,
    EagerNode,
    EagerPass,
    is_float_tensor,
    read_call,
)
from tensorsleuth.recording.structure.layer_outputs import layer_at
from tensorsleuth.recording.tensorflow import internals as tf

MAX_WAITING_SOFTMAXES = 64  # softmax outputs that no op has used yet
MAX_LAYER_NAMES = 4096  # the size of the cache of layer names
_ARRIVAL_OPS = ops.EXTERNAL_SOURCES | {"OptionalGetValue"}


class EagerLayerStats:
    """Follows the ops of a step, and measures some of their inputs and outputs."""

    def __init__(self, recorder: Recorder, native: loader.Native, book: LayerSeriesRegistry) -> None:
        self._recorder = recorder
        self._native = native
        self._book = book
        self._pass: EagerPass | None = None
        self._backward: set[int] = set()  # the uids of gradients that tapes returned in this step
        self._waiting: dict[int, Any] = {}  # node -> softmax output that may be attention weights
        self._seen: Counter[str] = Counter()  # how often each attention name occurred
        self._layers: dict[str, str | None] = {}
        self._inputs: dict[tuple[int, int], LayerSeries | None] = {}  # by the op's place and the input's index

    def ended(self) -> None:
        """Finish the step at the end of the step or of the recording."""
        self._close()
        self._backward.clear()

    def differentiated(self, gradients: Any) -> None:
        """Note that a tape has returned gradients: the ops after it are no part of the training pass."""
        self._close()
        self._backward.update(one._id for one in tf.flat_tensors(gradients))

    def _close(self) -> None:
        if self._pass is not None:
            for left in self._pass.final_outputs():
                self._left(left, self._pass.trains)
        self._pass = None
        self._waiting.clear()
        self._seen.clear()

    def saw(self, entry: int, args: tuple[Any, ...], result: Any, place: int) -> None:
        """Add an op that has just run."""
        # Checked for each call: the same place may compute a product in the loss and differentiate it.
        loops, differentiates = tf.eager_surroundings(sys._getframe(1))
        if differentiates:
            return
        kind, asked, taken, attributes = read_call(entry, args)
        current = self._current()
        made = tf.flat_tensors(result)  # the output of a ragged op contains lists
        name = _node_name(kind, asked)
        number = current.add(EagerNode(kind, name, attributes, self._layer(name)), taken, made, place, loops)
        self._look_at_inputs(current, taken, place)
        if kind in CROSS_ENTROPIES and current.trains and len(made) == 2:
            place_of_op = user_line(self._recorder, self._recorder.places.site_of(place))
            self._look(self._book.find("prediction", name, LayerMeasure.FIRST_ROWS, place=place_of_op), made[1])
        for left in current.layer_outputs(number, taken):
            self._left(left, current.trains)
        if number not in current.after_gradients and current.is_first(number):
            self._await(current, number, made)
            if kind in PRODUCTS or kind == SUM:
                self._find_attention(current, place)

    def _current(self) -> EagerPass:
        if self._pass is None or (not self._pass.trains and tf.is_taped()):
            self._close()
            self._pass = EagerPass(tf.is_taped(), self._backward)
        return self._pass

    def _layer(self, name: str) -> str | None:
        if name not in self._layers:
            if len(self._layers) >= MAX_LAYER_NAMES:
                self._layers.clear()
            self._layers[name] = layer_at(name, None, self._recorder.scopes.eager_names)
        return self._layers[name]

    def _left(self, eager_layer_output: EagerLayerOutput, trains: bool) -> None:
        entry = self._book.output(
            eager_layer_output.layer, trains=trains, op=eager_layer_output.op, activation=eager_layer_output.activation
        )
        self._look(entry, eager_layer_output.value)

    # ---- attention

    def _await(self, current: EagerPass, number: int, made: list[Any]) -> None:
        """Keep a softmax output that may be attention weights until another op uses it, or the pass ends."""
        start = softmax_of(current, number) if len(made) == 1 and is_float_tensor(made[0]) else None
        if start is not None and len(self._waiting) < MAX_WAITING_SOFTMAXES and scores_of(current, start) is not None:
            self._waiting[number] = made[0]
            current.exclude_output(number)

    def _find_attention(self, current: EagerPass, place: int) -> None:
        for number in list(self._waiting):
            one = attention_at(current, number, None, self._recorder.scopes.eager_names)
            if one is not None:
                again = self._seen[one.name]
                self._seen[one.name] += 1
                name = f"{one.name}:{again}" if again else one.name
                about: dict[str, Any] = {"trains": current.trains, "op": current.nodes[number].name}
                about |= {
                    "place": user_line(self._recorder, self._recorder.places.site_of(place)),
                    "axis": one.row_axis,
                }
                entry = self._book.find("attention", name, LayerMeasure.ATTENTION, **about)
                self._look(entry, self._waiting.pop(number))

    # ---- inputs

    def _look_at_inputs(self, current: EagerPass, taken: list[Any], place: int) -> None:
        for at, tensor in enumerate(taken):
            if not isinstance(tensor, tf.EagerTensor) or not is_integer_input(tensor._datatype_enum()):
                continue
            maker = current.maker(tensor)
            if (maker is None or maker in _ARRIVAL_OPS) and tensor._shape_tuple():
                if (place, at) not in self._inputs:
                    self._inputs[place, at] = self._input(current, tensor)
                self._look(self._inputs[place, at], tensor)

    def _input(self, current: EagerPass, tensor: Any) -> LayerSeries | None:
        """Return the series of an integer input. Its name comes from the first op that uses it."""
        name = input_name(sys._getframe(4), tensor) if current.trains else None
        return self._book.find("input", name, LayerMeasure.INPUT) if name is not None else None

    def _look(self, entry: LayerSeries | None, tensor: Any) -> None:
        if entry is not None:
            view, array = tensor_view(tensor)
            row_place = loader.RowPlace(self._native.latest_call(), 0, 0, 0, EventKind.EAGER)
            self._native.inside_saw(entry.series.number, view, row_place)
            del array  # it kept the tensor's memory alive until here


def _node_name(kind: str, asked: str | None) -> str:
    """Return a graph's name of an op. A requested name that ends with a slash is used unchanged."""
    if asked and asked.endswith("/"):
        return asked[:-1]
    return f"{tf.eager_scope()}{asked or kind}"
