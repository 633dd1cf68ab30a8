"""The op between a loss and the weights that lets no gradient through."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.elementwise import CLIPPING_OPS, COMPARISONS
from tensorsleuth.core.ops.gradients import GRADIENT_CUTS, STEP_FUNCTIONS
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.graph.neighbours import MAX_OPS_PER_LEVEL, OpNode
from tensorsleuth.diagnose.graph.training_graph import MAX_HOPS_TO_GRADIENT, TrainingGraph

MAX_HOPS_FROM_LOSS = 3 * MAX_HOPS_TO_GRADIENT  # ops from the loss


def gradient_stop(training_graph: TrainingGraph, loss: OpNode) -> OpNode | None:
    """Return the op nearest to the loss, among those computed from weights, that stops the gradient."""
    level, seen = [loss], {loss}
    for _ in range(MAX_HOPS_FROM_LOSS):
        sources = [one for spot in level for one in _inputs(training_graph, spot) if one not in seen]
        level = list(dict.fromkeys(sources))[:MAX_OPS_PER_LEVEL]
        seen.update(level)
        for one in level:
            if _stops(training_graph, one) and _depends_on_weights(training_graph, one):
                return one
    return None


def _inputs(training_graph: TrainingGraph, op_node: OpNode) -> Iterator[OpNode]:
    """Yield the inputs of an op, those included that `Neighbours` skips but a gradient stops at."""
    function = op_node.function
    for number, _ in op_node.graph_node.inputs if function is not None and op_node.graph_node is not None else ():
        if number >= 0 and function is not None and function.nodes[number].type in GRADIENT_CUTS:
            yield OpNode(function.nodes[number].type, op_node.instance, function, number)
    yield from (one for slot in training_graph.neighbours.input_ops(op_node) for one in slot)


def _stops(training_graph: TrainingGraph, op_node: OpNode) -> bool:
    if op_node.type in STEP_FUNCTIONS | COMPARISONS | GRADIENT_CUTS:
        return True
    return op_node.type in CLIPPING_OPS and any(
        _is_flat(rows) for rows in training_graph.output_rows((op_node,)).values()
    )


def _is_flat(rows: Array) -> bool:
    """Return whether every output was the same number, at the end as well."""
    return bool(rows["min"][-1] == rows["max"][-1] and (rows["min"] == rows["max"]).mean() > 1 / 2)


def _depends_on_weights(training_graph: TrainingGraph, op_node: OpNode) -> bool:
    return any(one.type in VARIABLE_READS for one in training_graph.neighbours.ancestors(op_node, MAX_HOPS_FROM_LOSS))
