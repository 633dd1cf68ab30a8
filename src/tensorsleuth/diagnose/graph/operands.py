"""The operands of an op, each with its shape and with the op that made it, views included.

`CallGraph.slots` sees through views, for they keep a tensor's health; here the shape is what matters.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame, Node
from tensorsleuth.core.ops.views import CHECKED_COPIES
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import TensorInfo

MAX_HOPS = 10
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Operand:
    """An input of an op, as far as it is known."""

    type: str = ""  # of the op that made it
    shape: Shape | None = None
    frame: Frame | None = None
    observed: ObservedTensor | None = None


def operands(call_graphs: CallGraphs, out: ObservedTensor) -> list[Operand]:
    """Return the operands of the op that made `out`, in order, through casts."""
    node = out.tensor.node
    return operands_of_node(call_graphs, out, node) if node is not None else operands_of_call(call_graphs, out.call)


def operands_of_node(call_graphs: CallGraphs, out: ObservedTensor, node: Node) -> list[Operand]:
    """Return the operands of a node in the function that made `out`."""
    return [_graph_operand(call_graphs, out, *source) for source in node.inputs]


def operands_of_call(call_graphs: CallGraphs, call: int) -> list[Operand]:
    """Return the operands of an eager op."""
    return [_eager_operand(call_graphs, uid) for uid in call_graphs.calls.inputs(call)]


def first_outputs(call_graphs: CallGraphs, rows: Array, types: Container[str]) -> Iterator[ObservedTensor]:
    """Yield the first row of each tensor of these op types, without gradients and datasets."""
    process = call_graphs.process
    for row in rows[np.unique(rows["tensor"], return_index=True)[1]]:
        tensor = process.tensor(int(row["tensor"]))
        call = process.call_of(row) if tensor is not None and tensor.type in types else None
        if tensor is not None and call is not None and not _is_gradient(tensor):
            yield ObservedTensor(process, tensor, row, call=call)


def _is_gradient(tensor_info: TensorInfo) -> bool:
    node, eager = tensor_info.node, tensor_info.eager
    if eager is not None:
        return eager.forward > 0
    return node is None or node.forward is not None or "gradient" in node.name


def _eager_operand(call_graphs: CallGraphs, uid: int, depth: int = 0) -> Operand:
    found = call_graphs.by_uid(uid)
    if found is None:
        return Operand()
    before = (
        call_graphs.calls.inputs(found.call) if found.op in CHECKED_COPIES and found.tensor.eager is not None else []
    )
    source = _eager_operand(call_graphs, before[0], depth + 1) if before and depth < MAX_HOPS else Operand()
    return source if source.type else _recorded_operand(found)


def _graph_operand(call_graphs: CallGraphs, out: ObservedTensor, node: int, output: int) -> Operand:
    function, instance = out.tensor.function, out.tensor.instance
    if function is None or instance is None:
        return Operand()
    for _ in range(MAX_HOPS):
        if node < 0 or function.nodes[node].type not in CHECKED_COPIES:
            break
        node, output = function.nodes[node].inputs[0]
    if node < 0:
        uids = call_graphs.calls.inputs(out.call) if instance.parent < 0 else []
        return _eager_operand(call_graphs, uids[-1 - node]) if -1 - node < len(uids) else Operand()
    described = function.nodes[node]
    seen = call_graphs.of_call(out.call).observations(instance.first_tensor + described.first_output + output)
    return _recorded_operand(seen[0]) if seen else _unrecorded_operand(call_graphs, described)


def _recorded_operand(one: ObservedTensor) -> Operand:
    site = one.tensor.site
    return Operand(one.op, one.shape, site.frame if site is not None else None, one)


def _unrecorded_operand(call_graphs: CallGraphs, node: Node) -> Operand:
    site = call_graphs.process.catalogue.sites.get(node.site)
    return Operand(node.type, None, site.frame if site is not None else None)
