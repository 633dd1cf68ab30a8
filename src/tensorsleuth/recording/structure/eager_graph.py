"""The ops of one pass of eager code through a model, as a graph that grows while it runs.

It keeps no tensor alive. It knows tensors by their uids, and holds weak references to those that no op has used yet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.recording.structure.graph_edges import GraphEdges, OutputRef
from tensorsleuth.recording.structure.layer_outputs import (
    activation_of,
    computed_source,
    is_computed,
    is_outside,
    takes_values,
)
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables

FIRST_INPUT = 3  # TFE_Py_FastPathExecute(context, op, name, *inputs_and_attributes)


@dataclass(slots=True)
class NodeAttribute:
    """An attribute with the fields of a graph node's attribute."""

    s: bytes = b""
    i: int = 0


class NodeAttributes(dict[str, NodeAttribute]):
    def __missing__(self, name: str) -> NodeAttribute:
        return NodeAttribute()


@dataclass(slots=True)
class EagerNode:
    """An op that has run, under the name that a graph would give it."""

    op: str
    name: str
    attr: NodeAttributes = field(default_factory=NodeAttributes)
    layer: str | None = None


def read_call(entry: int, args: tuple[Any, ...]) -> tuple[str, str | None, list[Any], NodeAttributes]:
    """Return type, requested name, inputs and attributes of an op: of TFE_Py_FastPathExecute (0) or TFE_Py_Execute."""
    if entry:
        return tf.as_text(args[2]), None, list(args[3]), _attributes(args[4] or ())
    rest = args[FIRST_INPUT:]
    end = next((at for at, one in enumerate(rest) if isinstance(one, str)), len(rest))
    inputs = [one for given in rest[:end] for one in (given if isinstance(given, list | tuple) else (given,))]
    return tf.as_text(args[1]), args[2], inputs, _attributes(rest[end:])


def _attributes(pairs: Sequence[Any]) -> NodeAttributes:
    found = NodeAttributes()
    for name, value in zip(pairs[::2], pairs[1::2], strict=False):
        if isinstance(value, str | bytes):
            found[name] = NodeAttribute(value.encode() if isinstance(value, str) else value)
        elif isinstance(value, int):
            found[name] = NodeAttribute(i=value)
    return found


@dataclass(frozen=True, slots=True)
class EagerLayerOutput:
    """An output of a layer."""

    layer: str
    op: str
    value: Any
    activation: str | None


class EagerPass(GraphEdges):
    """A graph that grows with each op. `backward` holds the uids of gradients."""

    def __init__(self, trains: bool, backward: set[int]) -> None:
        self.trains = trains
        self.nodes: list[EagerNode] = []
        self.inputs = []
        self.consumers: defaultdict[OutputRef, list[int]] = defaultdict(list)
        self.after_gradients = set()
        self._backward = backward
        self._tensors: dict[int, OutputRef] = {}  # by uid
        self._names: Counter[str] = Counter()
        self._left: set[OutputRef] = set()
        self._of_layer: Counter[str] = Counter()
        self._unconsumed: dict[OutputRef, Any] = {}  # outputs of layers that no op has used yet
        self._layers: list[str | None] = []
        self._places: set[int] = set()
        self._without_data: set[int] = set()  # nodes whose inputs are all constants, variables or shapes
        self._repeated: set[int] = set()  # nodes of later calls of the model
        self._later: set[int] = set()  # nodes of later iterations of a loop

    def add(self, op: EagerNode, taken: Sequence[Any], made: Sequence[Any], place: int, loops: bool = False) -> int:
        """Add an op that has run at a place, and return its number. `loops` says that a TensorFlow loop runs it."""
        sources = [self._source(one) for one in taken]
        number = len(self.nodes)
        again = self._names[op.name]
        self._names[op.name] += 1
        op.name = f"{op.name}_{again}" if again else op.name
        self._append(op, sources)
        self._count_round(number, place, loops)
        if any(at in self.after_gradients for at, _ in sources) or self._takes_gradients(taken):
            self.after_gradients.add(number)
        for at, tensor in enumerate(made):
            self._tensors[tensor._id] = (number, at)
            if op.layer is not None and is_float_tensor(tensor):
                self._unconsumed[(number, at)] = ref(tensor)
        return number

    def _count_round(self, number: int, place: int, loops: bool) -> None:
        """Detect a repeated call of a model without a tape: a known place gets data that no op made."""
        data = [at for at, _ in self.inputs[number] if at not in self._without_data]
        begins = place in self._places and all(at < 0 for at in data)
        if not data:
            self._without_data.add(number)
        elif begins or any(at in self._repeated for at in data):
            self._repeated.add(number)
        if loops and place in self._places:
            self._later.add(number)
        self._places.add(place)

    def is_first(self, number: int) -> bool:
        """Return whether a node belongs to the first call of the model and the first iteration of a loop."""
        return number not in self._later and (self.trains or number not in self._repeated)

    def maker(self, tensor: Any) -> str | None:
        """Return the type of the op that made a tensor; None if no recorded op made it."""
        number, _ = self._tensors.get(tensor._id, (-1, 0))
        return self.nodes[number].op if number >= 0 else None

    def _source(self, one: Any) -> OutputRef:
        if isinstance(one, tf.EagerTensor):
            return self._tensors.get(one._id) or self._add_external(one)
        handle = getattr(one, "handle", None)
        of_variable = isinstance(handle, tf.EagerTensor)  # the op itself reads the variable
        op = EagerNode(tf_variables.READ_VARIABLE if of_variable else "Const", "given")
        number, _ = self._append(op, [self._source(handle)] if of_variable else [])
        self._without_data.add(number)
        return number, 0

    def _add_external(self, tensor: Any) -> OutputRef:
        """Add a tensor that no recorded op made. With two axes it may be a batch, otherwise it is a number or shape."""
        found = self._tensors[tensor._id] = (-1 - len(self._tensors), 0)
        if len(tensor._shape_tuple() or ()) < 2:
            self._without_data.add(found[0])
        return found

    def _append(self, op: EagerNode, sources: list[OutputRef]) -> OutputRef:
        number = len(self.nodes)
        self.nodes.append(op)
        self._layers.append(op.layer)
        self.inputs.append(sources)
        for source in sources:
            self.consumers[source].append(number)
        return number, 0

    def _takes_gradients(self, taken: Sequence[Any]) -> bool:
        return bool(self._backward) and any(getattr(one, "_id", -1) in self._backward for one in taken)

    # ---- outputs of layers

    def exclude_output(self, number: int) -> None:
        """Note that a node's output is not the output of a layer."""
        self._left.add((number, 0))

    def layer_outputs(self, number: int, taken: Sequence[Any]) -> Iterator[EagerLayerOutput]:
        """Yield the inputs of an op that another layer computed."""
        if not takes_values(self, number):
            return
        for source, tensor in zip(self.inputs[number], taken, strict=False):
            self._unconsumed.pop(source, None)
            node = self.nodes[source[0]] if source[0] >= 0 else None
            if node is not None and is_outside(node.layer, self.nodes[number].layer):
                yield from self._layer_output(source, tensor)

    def final_outputs(self) -> Iterator[EagerLayerOutput]:
        """Yield the outputs of the model: tensors that no op used and that the program still holds."""
        for source, weak in self._unconsumed.items():
            tensor = weak()
            if tensor is not None:
                yield from self._layer_output(source, tensor)
        self._unconsumed.clear()

    def _layer_output(self, source: OutputRef, tensor: Any) -> Iterator[EagerLayerOutput]:
        if not is_float_tensor(tensor) or not is_computed(self, source[0]) or not self.is_first(source[0]):
            return
        made = computed_source(self, source, self._layers)
        layer = self.nodes[source[0]].layer
        if made is None or made in self._left or layer is None:
            return
        self._left.add(made)
        again, op = self._of_layer[layer], self.nodes[made[0]]
        self._of_layer[layer] += 1
        activation = activation_of(op.op) if made == source else None
        yield EagerLayerOutput(f"{layer}:{again}" if again else layer, op.name, tensor, activation)


def is_float_tensor(tensor: Any) -> bool:
    """Return whether it is a tensor of floats with at least one axis."""
    return is_float(tensor._datatype_enum()) and bool(tensor._shape_tuple())
