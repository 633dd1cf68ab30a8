"""What devices of one process send each other in all-reduces: no edge of the graph shows it."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Function, Node
from tensorsleuth.core.ops.kinds import COLLECTIVES
from tensorsleuth.trace.dataflow.call_graph import Moment
from tensorsleuth.trace.dataflow.observed import Observed


def received(moment: Moment, sent: Observed) -> Iterator[Observed]:
    """What the other devices got, bad, from the all-reduce that a tensor came out of."""
    tensor = sent.tensor
    if tensor.node is None or tensor.function is None or tensor.type not in COLLECTIVES:
        return
    place = _place(tensor.function, tensor.node)
    for one in moment.bad.values():
        other = one.tensor
        same = other.instance is tensor.instance and other.type == tensor.type and other.node is not tensor.node
        if same and other.node is not None and _place(tensor.function, other.node) == place:
            yield one


def _place(function: Function, node: Node) -> int:
    """Which of its device's collectives it is: each device runs them in the same order."""
    here = [one for one in function.nodes if one.type == node.type and one.device == node.device]
    return next(number for number, one in enumerate(here) if one is node)
