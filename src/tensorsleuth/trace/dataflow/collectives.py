"""Tensors that the devices of one process exchange in all-reduces. The graph has no edge for them."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Function, Node
from tensorsleuth.core.ops.kinds import COLLECTIVES
from tensorsleuth.trace.dataflow.call_graph import CallGraph
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor


def bad_receivers(call_graph: CallGraph, sent: ObservedTensor) -> Iterator[ObservedTensor]:
    """Yield the bad tensors that other devices received from the all-reduce that a tensor went into."""
    tensor = sent.tensor
    if tensor.node is None or tensor.function is None or tensor.type not in COLLECTIVES:
        return
    place = _place(tensor.function, tensor.node)
    for one in call_graph.bad_tensors.values():
        other = one.tensor
        same = other.instance is tensor.instance and other.type == tensor.type and other.node is not tensor.node
        if same and other.node is not None and _place(tensor.function, other.node) == place:
            yield one


def _place(function: Function, node: Node) -> int:
    """Return the position among its device's collectives. Each device runs them in the same order."""
    here = [one for one in function.nodes if one.type == node.type and one.device == node.device]
    return next(number for number, one in enumerate(here) if one is node)
