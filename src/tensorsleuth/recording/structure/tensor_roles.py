"""The roles of a function's tensors: a layer's output, a variable's value, a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.core.ops.layer_names import layer_of
from tensorsleuth.recording.functions.descriptions import captured_variables, forward_op, made_op
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import Placed, candidates
from tensorsleuth.recording.structure.graph_edges import GRADIENT_SCOPE
from tensorsleuth.recording.structure.selector import Subject
from tensorsleuth.recording.tensorflow import variables as tf_variables

# The optimiser takes them away where it can, and the values are the same.
_SEEN_THROUGH = frozenset(
    ["Identity", "StopGradient", "PreventGradient", "Reshape", "Squeeze", "ExpandDims", "Snapshot"]
)
Variable = tuple[str, bool]  # its name, and whether it is trainable
Output = tuple[str, int]  # name of an op in a graph, number of its output


class TracedGradients:
    """Gradients that tapes returned during tracing: for each tensor of a graph, what it is the gradient of."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Any, dict[Output, str]] = WeakKeyDictionary()

    def add(self, tensor: Any, source: str) -> None:
        while tensor.op.type in _SEEN_THROUGH and tensor.op.inputs[0].graph is tensor.graph:
            tensor = tensor.op.inputs[0]
        self._known.setdefault(tensor.graph, {})[tensor.op.name, tensor.value_index] = source

    def of(self, graph: Any) -> dict[Output, str]:
        return self._known.get(graph, {}) if graph is not None else {}


@dataclass
class Family:
    """A function at one place that calls it, with what its callers know of it."""

    definition: Definition
    around: str | None  # the layer that it is called in
    variables: dict[int, Variable] = field(default_factory=dict)  # by number of the argument
    told: bool = False  # whether gradients are known by what tapes gave, here or in what calls it
    read: set[str] = field(default_factory=set)  # the variables that were met
    gradients: dict[Output, str] = field(default_factory=dict)

    def argument_of(self, text: str) -> int | None:
        """The number of the argument that an input is, seen through identities."""
        for _ in range(len(self.definition.nodes) + 1):
            number, _ = self.definition.source(text)
            if number < 0:
                return -1 - number
            node = self.definition.proto.node_def[number]
            if node.op not in _SEEN_THROUGH:
                return None
            text = node.input[0]
        return None


class Subjects:
    """Names the tensors of functions as they are put in place."""

    def __init__(self, traced: TracedGradients, path_of: Callable[[int | None], str | None]) -> None:
        self._traced = traced
        self._path_of = path_of  # what Keras calls a variable, by the number of its handle
        self._families: dict[int, Family] = {}

    def of(self, placed: Placed) -> Iterator[tuple[int, str, int, Subject]]:
        """Number, name and dtype of each tensor that a probe could look at, and what it is."""
        family = self.family(placed)
        made = {op.name: op for op in placed.graph.get_operations()} if placed.graph is not None else {}
        frontier = _frontier(placed.definition) if not family.told else set()
        for tensor, source, kind, dtype, _ in candidates(placed.definition, True, set()):
            if kind == "Argument":
                yield tensor, source, dtype, Subject(f"{placed.name}/{source}", kind, family.around)
            else:
                yield tensor, source, dtype, self._subject(family, made, source, kind, frontier)

    def _subject(self, family: Family, made: dict[str, Any], source: str, kind: str, frontier: set[str]) -> Subject:
        name = source.split(":")[0]
        number, output = family.definition.source(source)
        node = family.definition.proto.node_def[number]
        forward = forward_op(made_op(made, node))
        layer = layer_of(forward.name if forward is not None else name) or family.around
        whose = family.gradients.get((name, output))
        if whose is not None:
            return Subject(name, kind, layer, gradient_of=tuple(filter(None, (whose, layer))))
        if source in frontier:
            return Subject(name, kind, layer, gradient_of=tuple(filter(None, (layer, name))))
        return Subject(name, kind, layer, *self._variable(family, node, kind))

    def _variable(self, family: Family, node: Any, kind: str) -> tuple[str | None, bool, bool]:
        """Its name, whether it is trainable, and whether this is the first time that the function reads it."""
        argument = family.argument_of(node.input[0]) if kind == tf_variables.READ_VARIABLE else None
        variable, trainable = family.variables.get(-1 if argument is None else argument, (None, False))
        if variable is None:
            return None, False, False
        first = variable not in family.read
        family.read.add(variable)
        return variable.removesuffix(":0"), trainable, first

    def family(self, placed: Placed) -> Family:
        """Return the facts about a function that is put in place; its callers have come before."""
        family = self._families[placed.instance] = self._make_family(placed)
        return family

    def caller(self, placed: Placed) -> Any | None:
        """The node that calls a function; None where Python does."""
        parent = self._families.get(placed.parent)
        return parent.definition.proto.node_def[placed.node] if parent is not None else None

    def _make_family(self, placed: Placed) -> Family:
        parent = self._families.get(placed.parent)
        gradients = dict(self._traced.of(placed.graph))
        variables = captured_variables(placed.graph, self._path_of)
        family = Family(placed.definition, None, variables, bool(gradients), gradients=gradients)
        if parent is None:
            return family
        node = parent.definition.proto.node_def[placed.node]
        family.told |= parent.told or node.op in ops.CONTROL_FLOW
        family.around = layer_of(node.name) or parent.around
        family.variables = _passed(parent, node) | family.variables
        family.gradients |= _returned(parent, node, placed.definition)
        return family


def _passed(parent: Family, node: Any) -> dict[int, Variable]:
    """The variables that a caller passes, by number of the argument."""
    inputs = [text for text in node.input if not text.startswith("^")][1 if node.op in ops.BRANCHES else 0 :]
    arguments = ((number, parent.argument_of(text)) for number, text in enumerate(inputs))
    return {number: parent.variables[at] for number, at in arguments if at is not None and at in parent.variables}


def _returned(parent: Family, node: Any, inner: Definition) -> dict[Output, str]:
    """Yield the outputs of a function that its caller knows as gradients."""
    if node.op not in ops.CALLS:
        return {}
    found: dict[Output, str] = {}
    for number, result in enumerate(inner.proto.signature.output_arg):
        whose = parent.gradients.get((node.name, number))
        if whose is not None:
            at, output = inner.source(inner.proto.ret[result.name])
            while at >= 0 and inner.proto.node_def[at].op in _SEEN_THROUGH:
                at, output = inner.source(inner.proto.node_def[at].input[0])
            if at >= 0:
                found[inner.proto.node_def[at].name, output] = whose
    return found


def _frontier(definition: Definition) -> set[str]:
    """Yield the outputs of the backward pass, for a function whose tape was not seen."""
    nodes = definition.proto.node_def
    backward = {node.name for node in nodes if GRADIENT_SCOPE.search(node.name)}
    outside = (text for node in nodes if node.name not in backward for text in node.input if not text.startswith("^"))
    taken = {*outside, *(definition.proto.ret.values() if backward else ())}
    return {_full(definition, text) for text in taken if text.split(":")[0] in backward}


def _full(definition: Definition, text: str) -> str:
    number, output = definition.source(text)
    return list(definition.names(number))[output][0]
