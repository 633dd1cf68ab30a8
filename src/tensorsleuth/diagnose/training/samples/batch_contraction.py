"""A product that sums over the batch too, as `tensordot(users, items, 2)`: one number for all samples."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.elementwise import BASIC_ARITHMETIC
from tensorsleuth.core.ops.products import PLAIN_MATMULS
from tensorsleuth.core.ops.views import RESHAPES, WEIGHING_PASSES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.shapes import FunctionShapes, ProcessShapes
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.diagnose.training.node_shapes import shape_of
from tensorsleuth.diagnose.training.samples.batch_sizes import batch_sizes
from tensorsleuth.trace.process.process import ProcessTrace

SUMMING_PRODUCTS = PLAIN_MATMULS | {"Einsum"}
MAX_HOPS_BACK = 3  # reshapes and transpositions before the product
MAX_HOPS_TO_USE = 3  # reshapes between it and what it is added to


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    spots = [one for one in training.forward_ops(SUMMING_PRODUCTS) if shape_of(training, one) in ((1, 1), ())]
    sizes = batch_sizes(training) if spots else set()
    found = ((one, size) for one in spots for size in sorted(_summed_batches(training, one) & sizes))
    yield from merge_same_line(
        _finding(training, one, size) for one, size in found if _meets_samples(training, one, size)
    )


RULE = Rule(
    id="batch-contraction",
    severity=Severity.WRONG,
    find=find,
    causes=("batch-mixed",),
    basis=Basis.GRAPH,
    supersedes=("chance-loss", "predictions-collapsed", "zero-gradients"),
)


def _shapes(training_graph: TrainingGraph, op_node: OpNode) -> FunctionShapes:
    return training_graph.process.cached(ProcessShapes).around_op(op_node)


def _summed_batches(training_graph: TrainingGraph, product: OpNode) -> set[int]:
    """Return the sizes of the first axes of both factors, as they were before they were made flat."""
    assert product.function is not None
    sizes = []
    for number, _ in product.function.nodes[product.node_index].inputs[:2]:
        shape = _before_reshapes(training_graph, product, number)
        sizes.append({shape[0]} if shape is not None and len(shape) > 1 and shape[0] > 1 else set())
    return sizes[0] & sizes[1] if len(sizes) == 2 else set()


def _before_reshapes(training_graph: TrainingGraph, product: OpNode, number: int) -> tuple[int, ...] | None:
    assert product.function is not None
    nodes, shapes = product.function.nodes, _shapes(training_graph, product)
    for _ in range(MAX_HOPS_BACK):
        if number < 0 or nodes[number].type not in WEIGHING_PASSES or not nodes[number].inputs:
            break
        number = nodes[number].inputs[0][0]
    return shapes.shape_of(number) if number >= 0 else None


def _meets_samples(training_graph: TrainingGraph, product: OpNode, size: int) -> bool:
    """Return whether the number is added to, or multiplied with, what has a row for each sample."""
    level = {product}
    for _ in range(MAX_HOPS_TO_USE):
        users = {user for one in level for user in training_graph.forward_consumers(one)}
        if any(user.type in BASIC_ARITHMETIC and (shape_of(training_graph, user) or (0,))[0] == size for user in users):
            return True
        level = {user for user in users if user.type in RESHAPES}
    return False


def _finding(training_graph: TrainingGraph, product: OpNode, size: int) -> RuleFinding:
    why = (
        f"sums a product over all axes, also over the batch of {size}: one number for all samples, which is then "
        "combined with what each sample has, so a prediction depends on the other samples of its batch"
    )
    return RuleFinding(
        cause="batch-mixed",
        confidence=0.9,
        why=why,
        fix=_EACH,
        frame=training_graph.frame(product),
        op=product.type,
    )


_EACH = "take the product of each sample: tf.reduce_sum(a * b, axis=-1, keepdims=True), or keras.layers.Dot(axes=1)"
