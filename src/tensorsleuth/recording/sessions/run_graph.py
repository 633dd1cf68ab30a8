"""The graph that a session runs for its fetches and feeds, as a function, so that all code for functions applies.

TensorFlow prunes a session's graph to the ops that the fetches need, and caches the result for each set of fetches and
feeds. This module does the same: variables and feeds become the function's arguments, and fetches its results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.core.ops.kinds import CALLS, CONTROL_FLOW_PASSES, MERGES, VARIABLE_OPS, VIEWS
from tensorsleuth.recording.functions.function_def import Definition, node_outputs, read_definition
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import sessions as tf_sessions

MAX_NAMED = 3  # the most fetches in the function's name
_COMPUTED_INSIDE = CONTROL_FLOW_PASSES | MERGES | CALLS
FETCHED_SUFFIX = "/sleuth_fetched"  # appended to the name of a variable that is fetched directly


@dataclass
class RunGraph:
    """The function that stands for a run."""

    definition: Definition
    variables: list[Any]  # the ops that hold them, in the order of the first arguments
    feeds: list[str]  # the names of the fed tensors, which are the remaining arguments
    python_ops: dict[str, Any] = field(default_factory=dict)  # node name -> op of the Python graph

    def fetched_tensor(self, output: int) -> tuple[int, str, int] | None:
        """Return the source of a fetch behind views: its number, op and dtype.

        Return None for an argument, and for the result of a loop, branch or call, because an inner op computed it.
        """
        definition = self.definition
        node, at = definition.source(definition.proto.ret[_result(output)])
        while node >= 0 and definition.proto.node_def[node].op in VIEWS:
            inputs = [text for text in definition.proto.node_def[node].input if text[:1] != "^"]
            node, at = definition.source(inputs[at if len(inputs) > 1 else 0])
        if node < 0 or definition.proto.node_def[node].op in _COMPUTED_INSIDE:
            return None
        dtypes = [dtype for out in definition.outputs[node] for dtype in out.dtypes]
        return definition.first_outputs[node] + at, definition.proto.node_def[node].op, dtypes[at]


def read_run(fetches: Sequence[Any], targets: Sequence[Any], feeds: Sequence[Any]) -> RunGraph:
    """Return the function of a run with these fetches, target ops and feeds."""
    fed = {tensor.name for tensor in feeds}
    live = _live_ops(fetches, targets, fed)
    variables = [op for op in live if op.type in VARIABLE_OPS]
    proto = tf.FunctionDef()
    proto.signature.name = _name([*fetches, *targets])
    names = {op.name + ":0": op.name for op in variables}
    for op in variables:
        proto.signature.input_arg.add(name=op.name, type=RESOURCE)
    for tensor in feeds:
        names[tensor.name] = name = _argument(tensor, names)
        proto.signature.input_arg.add(name=name, type=tf_sessions.datatype(tensor))
    function_writer = _FunctionWriter(proto, names, {op.name for op in variables})
    made = {op.name: op for op in live if op.type not in VARIABLE_OPS}
    for op in made.values():
        function_writer.add(op)
    for number, tensor in enumerate(fetches):
        made |= function_writer.result(number, tensor)
    return RunGraph(read_definition(proto), variables, [tensor.name for tensor in feeds], made)


def _live_ops(fetches: Iterable[Any], targets: Iterable[Any], fed: set[str]) -> list[Any]:
    """Return the ops that must run, in the order in which the program created them."""
    live: dict[str, Any] = {}
    todo = [*(tensor.op for tensor in fetches if tensor.name not in fed), *targets]
    while todo:
        op = todo.pop()
        if op.name not in live:
            live[op.name] = op
            todo += [tensor.op for tensor in op.inputs if tensor.name not in fed]
            todo += op.control_inputs
    return sorted(live.values(), key=tf_sessions.op_number)


class _FunctionWriter:
    """Writes ops into a function. The graph's `node:1` becomes `node:output:0` in a function."""

    def __init__(self, proto: Any, names: dict[str, str], variables: set[str]) -> None:
        self._proto = proto
        self._names = names
        self._variables = variables
        self._outputs: dict[str, list[str]] = {}

    def add(self, op: Any) -> None:
        node = self._proto.node_def.add()
        node.CopyFrom(op.node_def)
        del node.input[:]
        node.input.extend(self._name(tensor) for tensor in op.inputs)
        node.input.extend(f"^{control.name}" for control in op.control_inputs)
        if self._is_read(op):
            _become_read(node, node.attr["T"].type)
        elif tf.op_definition(node.op) is None:
            _become_call(node, op)

    def result(self, number: int, tensor: Any) -> dict[str, Any]:
        """Add a tensor to the results. A variable that is fetched directly gets a node that reads it."""
        name = self._name(tensor)
        read: dict[str, Any] = {}
        if name in self._variables:
            node = self._proto.node_def.add(name=name + FETCHED_SUFFIX, input=[name])
            _become_read(node, tf_sessions.datatype(tensor))
            name, read = f"{node.name}:value:0", {node.name: tensor.op}
        self._proto.signature.output_arg.add(name=_result(number), type=tf_sessions.datatype(tensor))
        self._proto.ret[_result(number)] = name
        return read

    def _name(self, tensor: Any) -> str:
        known = self._names.get(tensor.name)
        if known is not None:
            return known
        outputs = self._outputs.get(tensor.op.name)
        if outputs is None:
            outputs = self._outputs[tensor.op.name] = self._names_of_outputs(tensor.op)
        return outputs[int(tensor.value_index)]

    def _names_of_outputs(self, op: Any) -> list[str]:
        if self._is_read(op):
            return [f"{op.name}:value:0"]
        if tf.op_definition(op.type) is None:
            return [f"{op.name}:output:{at}" for at in range(len(op.outputs))]
        return [f"{op.name}:{out.name}:{at}" for out in node_outputs(op.node_def) for at in range(len(out.dtypes))]

    def _is_read(self, op: Any) -> bool:
        return op.type == "Identity" and self._names.get(op.inputs[0].name) in self._variables


def _become_read(node: Any, dtype: int) -> None:
    """Turn a node into a read op. An Identity reads variables of the old kind."""
    node.op = "ReadVariableOp"
    node.attr["dtype"].type = dtype


def _become_call(node: Any, op: Any) -> None:
    """Turn a node into a call op. In old graphs, the op type of a call is the function's name."""
    node.attr["f"].func.name, node.op = node.op, "PartitionedCall"
    node.attr["Tin"].list.type.extend(tf_sessions.datatype(tensor) for tensor in op.inputs)
    node.attr["Tout"].list.type.extend(tf_sessions.datatype(tensor) for tensor in op.outputs)


def _argument(tensor: Any, names: dict[str, str]) -> str:
    name = tensor.op.name if tensor.value_index == 0 else tensor.name.replace(":", "_")
    while name in names.values():
        name += "_"
    return str(name)


def _result(number: int) -> str:
    return f"fetched_{number}"


def _name(asked: Sequence[Any]) -> str:
    names = [one.name.removesuffix(":0") for one in asked[:MAX_NAMED]]
    return f"Session.run({', '.join(names)}{', …' if len(asked) > MAX_NAMED else ''})"
