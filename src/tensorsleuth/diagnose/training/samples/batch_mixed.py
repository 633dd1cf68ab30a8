"""Ops that mix the samples of a batch: a softmax, a mean or the scores of an attention over the batch axis."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.elementwise import SCALINGS
from tensorsleuth.core.ops.kinds import ORDER_OPS, VARIABLE_READS
from tensorsleuth.core.ops.masks import MASK_ADDING_OPS
from tensorsleuth.core.ops.products import LAYER_PRODUCTS, PLAIN_MATMULS, PRODUCTS
from tensorsleuth.core.ops.reductions import POOLING_REDUCTIONS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.shapes import FunctionShapes, ProcessShapes, einsum_letters
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.diagnose.training.samples.batch_inputs import BatchInputs
from tensorsleuth.trace.process.process import ProcessTrace

MAX_HOPS_TO_PRODUCT = 8  # ops from a softmax to the scores or logits before it
MAX_HOPS_TO_USE = 3  # ops from a softmax to a product that weighs with it
LOGIT_PASSES = SCALINGS | MASK_ADDING_OPS


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    sizes = {one.shape[0] for one in process.cached(BatchInputs).labels if one.shape and one.shape[0] > 1}
    found = [
        *(_softmax_finding(training, spot) for spot in _softmaxes(training)),
        *(_scores_finding(training, spot) for spot in _scores(training, sizes)),
        *(_average_finding(training, spot) for spot in _averages(training, sizes)),
    ]
    yield from merge_same_line(found)


RULE = Rule(
    id="batch-mixed",
    severity=Severity.WRONG,
    find=find,
    basis=Basis.GRAPH,
    supersedes=(
        "chance-loss",
        "predictions-collapsed",
        "zero-gradients",
    ),
)


# ---- a softmax of [batch, classes] over the batch


def _softmaxes(training_graph: TrainingGraph) -> Iterator[OpNode]:
    for softmax in training_graph.forward_ops(("Softmax", "LogSoftmax")):
        if _is_over_rows(training_graph, softmax) and not _weighs(training_graph, softmax):
            yield softmax


def _is_over_rows(training_graph: TrainingGraph, softmax: OpNode) -> bool:
    """Return whether logits of several classes are transposed before the softmax, which is over the last axis."""
    assert softmax.function is not None
    shapes = _shapes(training_graph, softmax)
    number = softmax.function.nodes[softmax.node_index].inputs[0][0]
    node = softmax.function.nodes[number] if number >= 0 else None
    if node is None or node.type != "Transpose" or shapes.integers(node.inputs[1][0]) != [1, 0]:
        return False
    shape = shapes.shape_of(number)
    return shape is not None and len(shape) == 2 and shape[0] > 1 and _has_samples_in_rows(training_graph, softmax)


def _has_samples_in_rows(training_graph: TrainingGraph, softmax: OpNode) -> bool:
    """Return whether a layer made the logits as inputs times weights."""
    level = [softmax]
    for _ in range(MAX_HOPS_TO_PRODUCT):
        sources = [one for spot in level for slot in training_graph.neighbours.input_ops(spot) for one in slot]
        for one in sources:
            if one.type in PLAIN_MATMULS and training_graph.takes_weights(one):
                node = one.graph_node
                first = training_graph.neighbours.input_ops(one)[0]
                return node is not None and not node.attrs.get("transpose_a") and not _are_weights(first)
        level = [one for one in sources if one.type in LOGIT_PASSES]
    return False


def _are_weights(sources: list[OpNode]) -> bool:
    return any(one.type in VARIABLE_READS | {"Cast"} for one in sources)


def _weighs(training_graph: TrainingGraph, softmax: OpNode) -> bool:
    """Return whether its output weighs or routes samples, as in pooling over instances."""
    level, seen = {softmax}, {softmax}
    for _ in range(MAX_HOPS_TO_USE):
        users = {user for one in level for user in training_graph.neighbours.consumers(one) if not user.is_gradient}
        if any(user.type in PRODUCTS | ORDER_OPS for user in users):
            return True
        level = users - seen
        seen |= users
    return False


def _softmax_finding(training_graph: TrainingGraph, softmax: OpNode) -> RuleFinding:
    why = (
        "takes the softmax of logits over the batch: the probabilities of one class add up to 1 over all samples, "
        "those of "
        "one sample do not, and each prediction depends on the other samples of its batch"
    )
    return RuleFinding(confidence=0.92, why=why, fix=_LAST, frame=training_graph.frame(softmax), op=softmax.type)


_LAST = "take it over the axis of the classes, the last one: axis=-1"


# ---- scores of each query with the keys of all samples, or summed over the batch


def _scores(training_graph: TrainingGraph, sizes: set[int]) -> Iterator[OpNode]:
    for softmax in training_graph.forward_ops(("Softmax",)):
        level = [softmax]
        for _ in range(MAX_HOPS_TO_PRODUCT):
            sources = [one for spot in level for slot in training_graph.neighbours.input_ops(spot) for one in slot]
            products = [one for one in sources if one.type in PRODUCTS]
            yield from (one for one in products if _mixes(training_graph, one, sizes))
            if products:
                break
            level = [one for one in sources if one.type in LOGIT_PASSES]


def _mixes(training_graph: TrainingGraph, product: OpNode, sizes: set[int]) -> bool:
    node = product.graph_node
    if node is None or training_graph.takes_weights(product):
        return False
    if product.type == "Einsum":
        taken, made = einsum_letters(node)
        return bool(made) and len(taken) == 2 and taken[0][:1] == taken[1][:1] != "" and taken[0][0] not in made
    return "Tensordot" in node.name and _pairs_samples(training_graph, product, sizes)


def _pairs_samples(training_graph: TrainingGraph, product: OpNode, sizes: set[int]) -> bool:
    """Return whether the result of a tensordot has the batch twice: [batch, queries, batch, keys]."""
    assert product.function is not None
    shapes = _shapes(training_graph, product)
    for number in training_graph.call_graphs.flow.consumers(product.function, product.node_index):
        shape = shapes.shape_of(number) if product.function.nodes[number].type == "Reshape" else None
        if shape is not None and len(shape) == 4 and shape[0] == shape[2] and shape[0] in sizes:
            return True
    return False


def _scores_finding(training_graph: TrainingGraph, product: OpNode) -> RuleFinding:
    how = (
        "sums the scores over the batch"
        if product.type == "Einsum"
        else "multiplies each query with the keys of all samples"
    )
    why = (
        f"{how}: the axis of the batch is not matched, so the attention of one sample depends on the other samples of "
        "its batch"
    )
    return RuleFinding(confidence=0.9, why=why, fix=_MATCH, frame=training_graph.frame(product), op=product.type)


_MATCH = 'keep the batch apart: tf.matmul(q, k, transpose_b=True), or tf.einsum("bqd,bkd->bqk", q, k)'


# ---- a mean over the batch before a layer


def _averages(training_graph: TrainingGraph, sizes: set[int]) -> Iterator[OpNode]:
    for spot in training_graph.forward_ops(POOLING_REDUCTIONS):
        node, shapes = spot.graph_node, _shapes(training_graph, spot)
        if node is None or len(node.inputs) < 2 or shapes.integers(node.inputs[1][0]) != [0]:
            continue
        shape = shapes.shape_of(node.inputs[0][0])
        if shape is None or len(shape) < 2 or shape[0] not in sizes:
            continue
        users = {user for user in training_graph.neighbours.consumers(spot) if not user.is_gradient}
        if users and all(user.type in LAYER_PRODUCTS and training_graph.takes_weights(user) for user in users):
            yield spot


def _average_finding(training_graph: TrainingGraph, spot: OpNode) -> RuleFinding:
    why = (
        f"takes the {spot.type.lower()} over axis 0, the batch, and the next layer multiplies its weights with that: "
        "all "
        "samples of a batch become one, and get the same prediction"
    )
    return RuleFinding(confidence=0.85, why=why, fix=_AXIS, frame=training_graph.frame(spot), op=spot.type)


_AXIS = "reduce the axis of time or of features: axis=1 of [batch, time, features], or axis=-1"


def _shapes(training_graph: TrainingGraph, spot: OpNode) -> FunctionShapes:
    return training_graph.process.cached(ProcessShapes).around_op(spot)
