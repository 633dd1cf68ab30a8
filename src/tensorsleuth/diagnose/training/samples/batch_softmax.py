"""A softmax over the batch, in eager code and of more than two axes: scores [batch, time, 1] over axis 0."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.elementwise import ELEMENTWISE_FUNCTIONS, SCALINGS
from tensorsleuth.core.ops.kinds import ORDER_OPS
from tensorsleuth.core.ops.masks import MASK_ADDING_OPS
from tensorsleuth.core.ops.products import BATCH_PRODUCTS, LAYER_PRODUCTS, PRODUCTS
from tensorsleuth.core.ops.reductions import LOSS_REDUCTIONS, PLAIN_SOFTMAXES
from tensorsleuth.core.ops.views import RESHAPES, WEIGHING_PASSES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.diagnose.training.eager_ops import differentiated_eager_ops
from tensorsleuth.diagnose.training.node_shapes import shape_of
from tensorsleuth.diagnose.training.samples.batch_sizes import batch_sizes
from tensorsleuth.trace.process.process import ProcessTrace

MAX_HOPS_TO_PRODUCT = 8  # ops from the softmax back to the layer that makes the scores
MAX_HOPS_TO_USE = 3  # ops from a softmax to a product that weighs with it
MAX_HOPS_TO_SUM = 6  # ops from a softmax to the sum of what it weighs
SCORE_PASSES = SCALINGS | MASK_ADDING_OPS | ELEMENTWISE_FUNCTIONS | RESHAPES


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    spots = list(_softmaxes(training))
    if not spots:
        return
    sizes = batch_sizes(training)
    yield from merge_same_line(
        _finding(training, spot, scores) for spot, scores in spots if _is_over_batch(training, spot, scores, sizes)
    )


RULE = Rule(
    id="batch-softmax",
    severity=Severity.WRONG,
    find=find,
    causes=("batch-mixed",),
    basis=Basis.GRAPH,
    supersedes=("chance-loss", "softmax-axis", "predictions-collapsed", "zero-gradients"),
)


def _softmaxes(training_graph: TrainingGraph) -> Iterator[tuple[OpNode, OpNode]]:
    """Yield the softmaxes whose input was transposed, as for another axis than the last, with the scores before it.

    In functions without those of two axes, which `batch_mixed` judges by the graph alone, unless what they weigh is
    summed over the other axis.
    """
    spots = [(one, 3) for one in training_graph.forward_ops(PLAIN_SOFTMAXES)]
    spots += [(one, 2) for one, _ in differentiated_eager_ops(training_graph.process, PLAIN_SOFTMAXES)]
    for softmax, fewest_axes in spots:
        turned = _source(training_graph, softmax)
        scores = _source(training_graph, turned) if turned is not None and turned.type == "Transpose" else None
        if scores is None or turned is None:
            continue
        shape = _scores_shape(training_graph, softmax, scores)
        if len(shape) >= fewest_axes or _sums_other_axis(training_graph, softmax, shape):
            yield softmax, scores


def _scores_shape(training_graph: TrainingGraph, softmax: OpNode, scores: OpNode) -> tuple[int, ...]:
    """Return the shape of scores; of two axes also where only the transposed ones were recorded."""
    turned = shape_of(training_graph, softmax) or ()
    return shape_of(training_graph, scores) or (turned[::-1] if len(turned) == 2 else ())


def _source(training_graph: TrainingGraph, op_node: OpNode) -> OpNode | None:
    """Return the op that makes the first input, be it a view."""
    node, function = op_node.graph_node, op_node.function
    if node is None or function is None:
        slots = training_graph.neighbours.input_ops(op_node)
        return slots[0][0] if slots and len(slots[0]) == 1 else None
    number = node.inputs[0][0] if node.inputs else -1
    return OpNode(function.nodes[number].type, op_node.instance, function, number) if number >= 0 else None


def _is_over_batch(training_graph: TrainingGraph, softmax: OpNode, scores: OpNode, sizes: set[int]) -> bool:
    """Return whether the axis of the softmax is the first one, and that is the batch.

    Of more than two axes, it has as many elements as there are labels. Of two, a layer puts samples there, and a bag of
    instances is the exception: its softmax weighs them.
    """
    shape, turned = _scores_shape(training_graph, softmax, scores), shape_of(training_graph, softmax)
    if not shape or turned is None or shape[0] == 1 or shape[0] in shape[1:] or turned[-1] != shape[0]:
        return False
    if len(shape) == 2 and _sums_other_axis(training_graph, softmax, shape):
        return not sizes or shape[0] in sizes
    is_batch = shape[0] in sizes if len(shape) > 2 else not _weighs(training_graph, softmax)
    return is_batch and _made_by_layer(training_graph, scores)


def _made_by_layer(training_graph: TrainingGraph, scores: OpNode) -> bool:
    """Return whether a layer made the scores, whose rows are still its rows."""
    level, seen = [scores], {scores}
    for _ in range(MAX_HOPS_TO_PRODUCT):
        if any(one.type in LAYER_PRODUCTS and training_graph.takes_weights(one) for one in level):
            return True
        sources = [
            one
            for spot in level
            if spot.type in SCORE_PASSES
            for slot in training_graph.neighbours.input_ops(spot)
            for one in slot
        ]
        level = [one for one in dict.fromkeys(sources) if one not in seen]
        seen.update(level)
    return False


def _sums_other_axis(training_graph: TrainingGraph, softmax: OpNode, shape: tuple[int, ...]) -> bool:
    """Return whether what a softmax over the first of two axes weighs is summed over the second one.

    Attention of [batch, time] does that: a matrix product of each sample, or a product and a sum over axis 1.
    """
    if len(shape) != 2:
        return False
    level, seen = {softmax}, {softmax}
    for _ in range(MAX_HOPS_TO_SUM):
        users = {user for one in level for user in training_graph.forward_consumers(one)} - seen
        for user in users:
            made = shape_of(training_graph, user) or ()
            keeps_rows = len(made) > 1 and made[0] == shape[0] and made[1] != shape[1]
            if keeps_rows and user.type in BATCH_PRODUCTS | LOSS_REDUCTIONS:
                return True
        seen |= users
        level = {user for user in users if user.type in WEIGHING_PASSES}
    return False


def _weighs(training_graph: TrainingGraph, softmax: OpNode) -> bool:
    """Return whether its output weighs or routes samples, as in pooling over the instances of a bag."""
    level, seen = {softmax}, {softmax}
    for _ in range(MAX_HOPS_TO_USE):
        users = {user for one in level for user in training_graph.forward_consumers(one)}
        if any(user.type in PRODUCTS | ORDER_OPS for user in users):
            return True
        level = users - seen
        seen |= users
    return False


def _finding(training_graph: TrainingGraph, softmax: OpNode, scores: OpNode) -> RuleFinding:
    shape = list(_scores_shape(training_graph, softmax, scores))
    why = (
        f"takes the softmax of {shape} over axis 0, the batch: the weights of one sample do not add up to 1, and what "
        "it gets depends on the other samples of its batch"
    )
    frame = training_graph.frame(softmax)
    return RuleFinding(cause="batch-mixed", confidence=0.9, why=why, fix=_OTHER, frame=frame, op=softmax.type)


_OTHER = "take it over the axis of classes, the last one, or over that of time or keys: axis=1 of [batch, time, 1]"
