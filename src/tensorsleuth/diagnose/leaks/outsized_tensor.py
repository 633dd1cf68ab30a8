"""A tensor ten times as large as its inputs and as its consumers' outputs: often it is avoidable."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.ops.products import GROWING_OPS
from tensorsleuth.diagnose.graph.neighbours import Neighbours
from tensorsleuth.diagnose.graph.operands import Operand, first_outputs, operands
from tensorsleuth.diagnose.health_words import format_bytes
from tensorsleuth.diagnose.needs import LARGE_TENSOR_BYTES
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import ProcessTrace

MIN_BYTES = LARGE_TENSOR_BYTES
MIN_SIZE_FACTOR = 10
MIN_INPUT_BYTES = 1_000  # bytes of what goes in: less is a shape or a seed, and what comes out is made of nothing
MOST_NOTES = 3


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    rows = process.early_events()
    rows = rows[_bytes(process, rows) >= MIN_BYTES]
    if not len(rows):
        return
    call_graphs = CallGraphs(process)
    found = [
        finding
        for one in first_outputs(call_graphs, rows, GROWING_OPS)
        if (finding := _finding(call_graphs, one)) is not None
    ]
    yield from sorted(found, key=lambda finding: -finding.harm)[:MOST_NOTES]


RULE = Rule(id="outsized-tensor", severity=Severity.NOTE, find=find)


def _bytes(process: ProcessTrace, rows: Array) -> Array:
    """Return the bytes of each row's tensor."""
    elements = np.array([float(np.prod(shape)) if shape else 1.0 for shape in process.shapes])
    sizes = np.array([dtype_of(number).itemsize for number in range(256)])
    bytes_of: Array = elements[np.minimum(rows["shape"], len(elements) - 1)] * sizes[rows["dtype"]]
    return bytes_of


def _finding(call_graphs: CallGraphs, out: ObservedTensor) -> RuleFinding | None:
    given = operands(call_graphs, out)
    size, largest_in = _size(out), max((_size(one.observed) for one in given if one.observed is not None), default=0)
    if (
        largest_in < MIN_INPUT_BYTES
        or size < MIN_SIZE_FACTOR * largest_in
        or size < MIN_SIZE_FACTOR * _largest_consumer_bytes(call_graphs, out)
    ):
        return None
    site = out.tensor.site
    why = (
        f"makes a tensor of {list(out.shape or ())}, {format_bytes(size)}: {size / largest_in:.3g} times what goes in, "
        "and what is made of it is small again"
    )
    return RuleFinding(
        confidence=0.7,
        why=why,
        fix=_SUM_EARLIER,
        frame=site.frame if site is not None else None,
        op=out.op,
        harm=float(size),
        step=call_graphs.calls.step(out.call),
        evidence=tuple(_evidence(given, out)),
    )


def _size(one: ObservedTensor) -> int:
    return one.elements * dtype_of(int(one.row["dtype"])).itemsize if one.row is not None else 0


def _largest_consumer_bytes(call_graphs: CallGraphs, out: ObservedTensor) -> int:
    """Return the bytes of the largest output that the forward pass computes from it directly."""
    neighbours = Neighbours(call_graphs)
    spot = neighbours.node_of(out)
    users = [user for user in neighbours.consumers(spot) if not user.is_gradient] if spot is not None else []
    return max((_size(one) for user in users for one in neighbours.recorded_outputs(user)), default=0)


def _evidence(given: list[Operand], out: ObservedTensor) -> Iterator[Evidence]:
    for role, one in (*(("in", operand.observed) for operand in given), ("out", out)):
        if one is not None:
            yield Evidence(role, one.tensor.name, one.op, one.dtype, one.shape, format_bytes(_size(one)))


_SUM_EARLIER = (
    "compute what you need of it without it: a matmul or tf.einsum in place of a broadcast and a sum, "
    "sparse labels in place of one-hot, or in parts"
)
