"""The range of a tensor without a row: computed from those that it was made of, where they tell."""

from __future__ import annotations

from tensorsleuth.core.ops.kinds import UNFED_DEFAULTS, VIEWS
from tensorsleuth.core.ops.ranges import Range, result_range
from tensorsleuth.diagnose.graph.neighbours import Neighbours, OpNode
from tensorsleuth.trace.dataflow.call_graph import constant_of

MAX_DEPTH = 6  # ops


def range_of(neighbours: Neighbours, op_node: OpNode, depth: int = MAX_DEPTH) -> Range | None:
    """Return the smallest and the largest value of an op's only output in its call; None if they are not known."""
    seen = neighbours.recorded_outputs(op_node)
    if seen:
        return (seen[0].min, seen[0].max) if len(seen) == 1 and seen[0].has_range and not seen[0].bad else None
    constant = constant_of(op_node.graph_node) if op_node.graph_node is not None else None
    if constant:
        return min(constant), max(constant)
    made = neighbours.input_ops(op_node) if depth else []
    ranges = [range_of(neighbours, slot[0], depth - 1) for slot in made if len(slot) == 1]
    known = [one for one in ranges if one is not None]
    if not known or len(known) != len(made):
        return None
    return known[0] if op_node.type in VIEWS | UNFED_DEFAULTS else result_range(op_node.type, known)
