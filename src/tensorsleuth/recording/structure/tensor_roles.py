"""The roles of a function's tensors: a layer's output, a variable's value, a gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.core.ops.layer_names import layer_of
from tensorsleuth.core.ops.views import REMOVABLE_VIEWS
from tensorsleuth.recording.functions.descriptions import captured_variables, forward_op, python_op
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import FunctionInstance, probe_candidates
from tensorsleuth.recording.structure.graph_edges import GRADIENT_SCOPE
from tensorsleuth.recording.structure.selector import TensorRole
from tensorsleuth.recording.tensorflow import variables as tf_variables

CapturedVariable = tuple[str, bool]  # its name, and whether it is trainable
NamedOutput = tuple[str, int]  # the name of an op in a graph, and the index of its output


class TracedGradients:
    """The gradients that tapes returned during tracing, with the names of their sources."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Any, dict[NamedOutput, str]] = WeakKeyDictionary()

    def add(self, tensor: Any, source: str) -> None:
        while tensor.op.type in REMOVABLE_VIEWS and tensor.op.inputs[0].graph is tensor.graph:
            tensor = tensor.op.inputs[0]
        self._known.setdefault(tensor.graph, {})[tensor.op.name, tensor.value_index] = source

    def gradients_in(self, graph: Any) -> dict[NamedOutput, str]:
        return self._known.get(graph, {}) if graph is not None else {}


@dataclass
class InstanceContext:
    """A function at one call site, with the facts that its callers know."""

    definition: Definition
    outer_layer: str | None  # the layer that calls it
    variables: dict[int, CapturedVariable] = field(default_factory=dict)  # by argument index
    has_tape_gradients: bool = False  # tapes reported gradients here or in a caller
    read_variables: set[str] = field(default_factory=set)  # the variables that were read so far
    gradients: dict[NamedOutput, str] = field(default_factory=dict)

    def argument_of(self, text: str) -> int | None:
        """Return the index of the argument behind an input and its identities."""
        for _ in range(len(self.definition.nodes) + 1):
            number, _ = self.definition.source(text)
            if number < 0:
                return -1 - number
            node = self.definition.proto.node_def[number]
            if node.op not in REMOVABLE_VIEWS:
                return None
            text = node.input[0]
        return None


class TensorRoles:
    """Assigns roles to the tensors of functions when their watched copies are made."""

    def __init__(self, traced: TracedGradients, path_of: Callable[[int | None], str | None]) -> None:
        self._traced = traced
        self._path_of = path_of  # returns Keras's name for a variable, by the id of its handle
        self._contexts: dict[int, InstanceContext] = {}

    def roles_in(self, function_instance: FunctionInstance) -> Iterator[tuple[int, str, int, TensorRole]]:
        """Yield the number, name, dtype and role of each tensor that may get a probe."""
        family = self.context(function_instance)
        made = (
            {op.name: op for op in function_instance.graph.get_operations()}
            if function_instance.graph is not None
            else {}
        )
        frontier = _backward_outputs(function_instance.definition) if not family.has_tape_gradients else set()
        for tensor, source, kind, dtype, _ in probe_candidates(function_instance.definition, True, set()):
            if kind == "Argument":
                yield tensor, source, dtype, TensorRole(f"{function_instance.name}/{source}", kind, family.outer_layer)
            else:
                yield tensor, source, dtype, self._role(family, made, source, kind, frontier)

    def _role(
        self, instance_context: InstanceContext, made: dict[str, Any], source: str, kind: str, frontier: set[str]
    ) -> TensorRole:
        name = source.split(":")[0]
        number, output = instance_context.definition.source(source)
        node = instance_context.definition.proto.node_def[number]
        forward = forward_op(python_op(made, node))
        layer = layer_of(forward.name if forward is not None else name) or instance_context.outer_layer
        whose = instance_context.gradients.get((name, output))
        if whose is not None:
            return TensorRole(name, kind, layer, gradient_of=tuple(filter(None, (whose, layer))))
        if source in frontier:
            return TensorRole(name, kind, layer, gradient_of=tuple(filter(None, (layer, name))))
        return TensorRole(name, kind, layer, *self._variable(instance_context, node, kind))

    def _variable(self, instance_context: InstanceContext, node: Any, kind: str) -> tuple[str | None, bool, bool]:
        """Return the variable's name, whether it is trainable, and whether this is the function's first read of it."""
        argument = instance_context.argument_of(node.input[0]) if kind == tf_variables.READ_VARIABLE else None
        variable, trainable = instance_context.variables.get(-1 if argument is None else argument, (None, False))
        if variable is None:
            return None, False, False
        first = variable not in instance_context.read_variables
        instance_context.read_variables.add(variable)
        return variable.removesuffix(":0"), trainable, first

    def context(self, function_instance: FunctionInstance) -> InstanceContext:
        """Return the facts about a function. The contexts of its callers must exist already."""
        family = self._contexts[function_instance.instance] = self._make_context(function_instance)
        return family

    def calling_node(self, function_instance: FunctionInstance) -> Any | None:
        """Return the node that calls a function; None if Python calls it."""
        parent = self._contexts.get(function_instance.parent)
        return parent.definition.proto.node_def[function_instance.node] if parent is not None else None

    def _make_context(self, function_instance: FunctionInstance) -> InstanceContext:
        parent = self._contexts.get(function_instance.parent)
        gradients = dict(self._traced.gradients_in(function_instance.graph))
        variables = captured_variables(function_instance.graph, self._path_of)
        instance_context = InstanceContext(
            function_instance.definition, None, variables, bool(gradients), gradients=gradients
        )
        if parent is None:
            return instance_context
        node = parent.definition.proto.node_def[function_instance.node]
        instance_context.has_tape_gradients |= parent.has_tape_gradients or node.op in ops.CONTROL_FLOW
        instance_context.outer_layer = layer_of(node.name) or parent.outer_layer
        instance_context.variables = _passed_variables(parent, node) | instance_context.variables
        instance_context.gradients |= _returned_gradients(parent, node, function_instance.definition)
        return instance_context


def _passed_variables(parent: InstanceContext, node: Any) -> dict[int, CapturedVariable]:
    """Return the variables that a caller passes, by argument index."""
    inputs = [text for text in node.input if not text.startswith("^")][1 if node.op in ops.BRANCHES else 0 :]
    arguments = ((number, parent.argument_of(text)) for number, text in enumerate(inputs))
    return {number: parent.variables[at] for number, at in arguments if at is not None and at in parent.variables}


def _returned_gradients(parent: InstanceContext, node: Any, inner: Definition) -> dict[NamedOutput, str]:
    """Return the outputs of a function that its caller knows as gradients."""
    if node.op not in ops.CALLS:
        return {}
    found: dict[NamedOutput, str] = {}
    for number, result in enumerate(inner.proto.signature.output_arg):
        whose = parent.gradients.get((node.name, number))
        if whose is not None:
            at, output = inner.source(inner.proto.ret[result.name])
            while at >= 0 and inner.proto.node_def[at].op in REMOVABLE_VIEWS:
                at, output = inner.source(inner.proto.node_def[at].input[0])
            if at >= 0:
                found[inner.proto.node_def[at].name, output] = whose
    return found


def _backward_outputs(definition: Definition) -> set[str]:
    """Return the outputs of the backward pass, for a function whose tape was not seen."""
    nodes = definition.proto.node_def
    backward = {node.name for node in nodes if GRADIENT_SCOPE.search(node.name)}
    outside = (text for node in nodes if node.name not in backward for text in node.input if not text.startswith("^"))
    taken = {*outside, *(definition.proto.ret.values() if backward else ())}
    return {_full_name(definition, text) for text in taken if text.split(":")[0] in backward}


def _full_name(definition: Definition, text: str) -> str:
    number, output = definition.source(text)
    return list(definition.output_names(number))[output][0]
