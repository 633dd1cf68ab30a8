"""Describes functions for the catalogue: nodes, lines, forward ops, captures."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from tensorsleuth.core.ops.gradients import LOOP_SAVING_OPS
from tensorsleuth.core.ops.kinds import INPUT_OPS, writes_variables
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.functions.function_def import Definition, argument_shapes, describe_attributes
from tensorsleuth.recording.functions.saved_lines import SavedLines
from tensorsleuth.recording.lazy import Lazy
from tensorsleuth.recording.structure.name_scopes import NameScopes
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.recording.tensorflow.gradient_marks import is_in_written_gradient
from tensorsleuth.recording.tensorflow.internals import element_names


class FunctionDescriber:
    """Describes functions with facts from their Python graphs."""

    def __init__(
        self,
        call_sites: CallSites,
        name_scopes: NameScopes,
        frozen: Callable[[], set[int]],
        saved_lines: Lazy[SavedLines] | None = None,
    ) -> None:
        self._sites = call_sites
        self._saved_lines = saved_lines
        self._frozen = frozen
        self._scopes = name_scopes
        self._keys: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def describe(self, definition: Definition, graph: Any) -> dict[str, Any]:
        """Return the fields of a `function` record."""
        made = {op.name: op for op in graph.get_operations()} if graph is not None else {}
        captures = _captures(graph)
        frozen = self._frozen() if captures else set()
        for captured in captures.values():
            if captured.get("trainable") and captured["uid"] in frozen:
                captured["trainable"] = False
        return self.describe_with(definition, graph, made, captures)

    def describe_with(
        self, definition: Definition, graph: Any, made: dict[str, Any], captures: dict[str, dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the description, given the Python ops of the nodes, and the captures."""
        nodes = [self._node(definition, number, made) for number in range(len(definition.nodes))]
        signature = definition.proto.signature
        self._scopes.describe(graph, self._key(graph), (node[0] for node in nodes))
        return {
            "name": signature.name,
            "graph": self._key(graph),
            "arguments": [argument.name for argument in signature.input_arg],
            "argument_dtypes": [argument.type for argument in signature.input_arg],
            "argument_shapes": argument_shapes(definition.proto),
            "captures": captures,
            "nodes": nodes,
            "returns": [definition.source(definition.proto.ret[out.name]) for out in signature.output_arg],
            "kind": _kind(definition, nodes),
            "tensors": definition.tensors,
            "elements": element_names(graph) if any(node[1] in INPUT_OPS for node in nodes) else [],
        }

    def _node(self, definition: Definition, number: int, made: dict[str, Any]) -> list[Any]:
        node = definition.proto.node_def[number]
        op = python_op(made, node)
        return [
            node.name,
            node.op,
            node.device,
            [definition.source(text) for text in node.input if not text.startswith("^")],
            [definition.nodes[text[1:]] for text in node.input if text[:1] == "^" and text[1:] in definition.nodes],
            describe_attributes(node),
            (self._sites.of_graph_op(op) if op is not None else 0) or self._saved_line(definition, node),
            self._forward(op),
            [dtype for output in definition.outputs[number] for dtype in output.dtypes],
        ]

    def _saved_line(self, definition: Definition, node: Any) -> int:
        """Return the site of a node that was loaded, if the program has saved it too."""
        saved = self._saved_lines.value if self._saved_lines is not None else None
        return saved.site(definition.proto.signature.name, node) if saved is not None else 0

    def _forward(self, op: Any) -> list[Any] | None:
        """Return the op that this one differentiates, and for a higher-order gradient the ops before it."""
        origin = forward_op(op)
        if origin is None:
            return None
        return [self._key(origin.graph), origin.name, origin.type, self._sites.of_graph_op(origin)]

    def _key(self, graph: Any) -> int:
        if graph is None:
            return -1
        return self._keys.setdefault(graph, len(self._keys) + 1)


def forward_op(op: Any) -> Any | None:
    """Return the op of a Python graph that a gradient op differentiates.

    An op that the program wrote into a gradient of its own differentiates none: its line is there to be changed.
    """
    forward = op
    while (before := getattr(forward, "_original_op", None)) and not is_in_written_gradient(forward, before):
        forward = before
    return forward if forward is not op else None


def python_op(made: dict[str, Any], node: Any) -> Any | None:
    """Return the Python op of a node. TensorFlow appends a number to an op's name if an output has that name."""
    op = made.get(node.name)
    if op is None:
        op = made.get(node.name.rpartition("_")[0])
        return op if op is not None and op.type == node.op else None
    return op


_BACKWARD_PREFIX = "__backward_"
_GRADIENT_SCOPE = re.compile("(^|/)gradient(s|_tape)/")  # for functions that were traced before the recording


def _kind(definition: Definition, nodes: list[list[Any]]) -> str:
    """Return what a call of the function means for counting steps.

    train: it computes gradients, so each call is a step. backward: TensorFlow made it for an outer tape, and it ends
    the forward pass of a step. write: it only writes variables, as an optimizer does. plain: anything else.
    """
    if _BACKWARD_PREFIX in definition.proto.signature.name:
        return "backward"
    if any((node[7] or _GRADIENT_SCOPE.search(node[0])) and node[1] not in LOOP_SAVING_OPS for node in nodes):
        return "train"
    return "write" if any(writes_variables(node.op) for node in definition.proto.node_def) else "plain"


def _captures(graph: Any) -> dict[str, dict[str, Any]]:
    """Map the index of each captured argument to the variable's name, or to the uid of the outer tensor."""
    if graph is None:
        return {}
    variables = {id(one.handle): one for one in tf_variables.living_variables(graph) if hasattr(one, "handle")}
    places = {id(tensor): number for number, tensor in enumerate(graph.inputs)}
    captures = {}
    for outer, inner in graph.captures:
        number = places.get(id(inner))
        if number is not None:
            captures[str(number)] = _describe_capture(outer, variables.get(id(outer)))
    return captures


def captured_variables(graph: Any, path_of: Callable[[int | None], str | None]) -> dict[int, tuple[str, bool]]:
    """Map the argument index of each variable that a graph captures to its name and whether it is trainable."""
    captures = ((int(number), captured) for number, captured in _captures(graph).items())
    variables = [(number, one) for number, one in captures if "variable" in one]
    return {number: (path_of(one["uid"]) or one["variable"], one["trainable"]) for number, one in variables}


def _describe_capture(outer: Any, variable: Any) -> dict[str, Any]:
    described: dict[str, Any] = {"uid": getattr(outer, "_id", None)}
    if variable is not None:
        described |= {
            "variable": variable.name,
            "shape": variable.shape.as_list() if variable.shape.rank is not None else None,
            "trainable": bool(getattr(variable, "trainable", False)),
        }
    return described
