"""The operands of an op, each with its shape and with the op that made it, views included.

`Moment.slots` sees through views, for they keep a tensor's health; here the shape is what matters.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame, Node
from tensorsleuth.trace.dataflow.call_graph import Moments
from tensorsleuth.trace.dataflow.observed import Observed
from tensorsleuth.trace.process.process import Tensor

PASSED = frozenset(["Identity", "Cast", "StopGradient", "EnsureShape"])  # of the same shape
DEPTH = 10
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Operand:
    """An input of an op, as far as it is known."""

    type: str = ""  # of the op that made it
    shape: Shape | None = None
    frame: Frame | None = None
    out: Observed | None = None


def operands(moments: Moments, out: Observed) -> list[Operand]:
    """Return the operands of the op that made `out`, in order, through casts."""
    node = out.tensor.node
    return operands_of_node(moments, out, node) if node is not None else operands_of_call(moments, out.call)


def operands_of_node(moments: Moments, out: Observed, node: Node) -> list[Operand]:
    """Return the operands of a node in the function that made `out`."""
    return [_of_graph(moments, out, *source) for source in node.inputs]


def operands_of_call(moments: Moments, call: int) -> list[Operand]:
    """Return the operands of an eager op."""
    return [_of_eager(moments, uid) for uid in moments.calls.inputs(call)]


def first_of_each(moments: Moments, rows: Array, types: Container[str]) -> Iterator[Observed]:
    """The first of these rows for each tensor of ops of these types; not those of gradients, nor of datasets."""
    process = moments.process
    for row in rows[np.unique(rows["tensor"], return_index=True)[1]]:
        tensor = process.tensor(int(row["tensor"]))
        call = process.call_of(row) if tensor is not None and tensor.type in types else None
        if tensor is not None and call is not None and not _is_gradient(tensor):
            yield Observed(process, tensor, row, call=call)


def _is_gradient(tensor: Tensor) -> bool:
    node, eager = tensor.node, tensor.eager
    if eager is not None:
        return eager.forward > 0
    return node is None or node.forward is not None or "gradient" in node.name


def _of_eager(moments: Moments, uid: int, depth: int = 0) -> Operand:
    found = moments.by_uid(uid)
    if found is None:
        return Operand()
    before = moments.calls.inputs(found.call) if found.op in PASSED and found.tensor.eager is not None else []
    source = _of_eager(moments, before[0], depth + 1) if before and depth < DEPTH else Operand()
    return source if source.type else _seen(found)


def _of_graph(moments: Moments, out: Observed, node: int, output: int) -> Operand:
    function, instance = out.tensor.function, out.tensor.instance
    if function is None or instance is None:
        return Operand()
    for _ in range(DEPTH):
        if node < 0 or function.nodes[node].type not in PASSED:
            break
        node, output = function.nodes[node].inputs[0]
    if node < 0:
        uids = moments.calls.inputs(out.call) if instance.parent < 0 else []
        return _of_eager(moments, uids[-1 - node]) if -1 - node < len(uids) else Operand()
    described = function.nodes[node]
    seen = moments.of_call(out.call).seen(instance.first + described.first + output)
    return _seen(seen[0]) if seen else _unseen(moments, described)


def _seen(one: Observed) -> Operand:
    site = one.tensor.site
    return Operand(one.op, one.shape, site.frame if site is not None else None, one)


def _unseen(moments: Moments, node: Node) -> Operand:
    site = moments.process.catalogue.sites.get(node.site)
    return Operand(node.type, None, site.frame if site is not None else None)
