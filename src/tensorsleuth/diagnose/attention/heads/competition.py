"""Weights that sum to one over the outputs, and not over what is summed: where that is meant, and where it is a slip.

Capsules, slots and clusters compete for each input on purpose. Their graph shows it: a round of routing reads what an
earlier round made of the same inputs, or the weights are divided by their sum, or the queries are no samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tensorsleuth.core.ops.data_ops import EMBEDDING_LOOKUPS
from tensorsleuth.core.ops.elementwise import ELEMENTWISE
from tensorsleuth.core.ops.kinds import INPUT_OPS, VARIABLE_READS
from tensorsleuth.core.ops.products import BATCH_PRODUCTS, LAYER_PRODUCTS
from tensorsleuth.core.ops.reductions import LOSS_REDUCTIONS
from tensorsleuth.core.ops.views import PARTS, REPEATS, SHAPE_ONLY_OPS
from tensorsleuth.diagnose.attention.attention_graph import AttentionOps, WeightedSum
from tensorsleuth.diagnose.graph.constant_folding import fold_constants
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.training.node_shapes import shape_of

MAX_WALKED_OPS = 5_000
MAX_HOPS_TO_LAYER = 12  # ops from queries or keys back to the layer that projects them
WHOLE_READS = VARIABLE_READS - EMBEDDING_LOOKUPS  # of a variable, not of the rows of some samples
PROJECTED_PASSES = ELEMENTWISE | PARTS | REPEATS | {"BiasAdd"}  # rotations and scales of a projection


def competes_on_purpose(training_graph: TrainingGraph, one: AttentionOps) -> bool:
    """Return whether the graph divides the weights by their sum, or runs a round of routing."""
    users = training_graph.forward_consumers(one.softmax)
    return any(user.type in LOSS_REDUCTIONS for user in users) or any(
        _is_routing_round(training_graph, one, taking) for taking in one.weighted_sums
    )


def is_self_attention(training_graph: TrainingGraph, one: AttentionOps) -> bool:
    """Return whether queries and keys are made of the same tensor."""
    first, second = (set(_projected_from(training_graph, slot)) for slot in _operands(training_graph, one.scores))
    return bool(first & second)


def attends_to_samples(training_graph: TrainingGraph, one: AttentionOps) -> bool:
    """Return whether queries and keys are both made of the samples, and not of weights or noise alone."""
    return all(_takes_samples(training_graph, slot) for slot in _operands(training_graph, one.scores))


def has_chosen_axis(one: AttentionOps) -> bool:
    """Return whether the program asked for another axis than the last: TensorFlow turns that one to the end."""
    node, function = one.softmax.graph_node, one.softmax.function
    source = node.inputs[0][0] if node is not None and node.inputs else -1
    return function is not None and source >= 0 and function.nodes[source].type == "Transpose"


def values_of(training_graph: TrainingGraph, taking: WeightedSum) -> set[OpNode]:
    """Return the ops that make the values of a weighted sum."""
    slots = training_graph.neighbours.input_ops(taking.op_node)
    return set(slots[1 - taking.weights_slot]) if len(slots) == 2 else set()


def _operands(training_graph: TrainingGraph, product: OpNode) -> tuple[list[OpNode], list[OpNode]]:
    slots = training_graph.neighbours.input_ops(product)
    return (slots[0], slots[1]) if len(slots) == 2 else ([], [])


def _is_routing_round(training_graph: TrainingGraph, one: AttentionOps, taking: WeightedSum) -> bool:
    """Return whether the scores are made of an earlier sum over the same values, which no round changes."""
    values = values_of(training_graph, taking)
    before = _ancestors(training_graph, [one.scores])
    sums = {spot for spot in before if _sums_values(training_graph, spot, values)}
    return bool(sums) and sums.isdisjoint(_ancestors(training_graph, values))


def _sums_values(training_graph: TrainingGraph, spot: OpNode, values: set[OpNode]) -> bool:
    """Return whether an op sums values, weighted or not; a mean over features, as of a normalization, is none."""
    sources = _sources(training_graph, [spot])
    if spot.type in BATCH_PRODUCTS:
        return not values.isdisjoint(sources)
    if spot.type not in LOSS_REDUCTIONS:
        return False
    weighted = _sources(training_graph, (one for one in sources if one.type == "Mul"))
    return not values.isdisjoint(sources | weighted) and not _reduces_features(training_graph, spot)


def _reduces_features(training_graph: TrainingGraph, reduction: OpNode) -> bool:
    node, function = reduction.graph_node, reduction.function
    if node is None or function is None or len(node.inputs) < 2:
        return True
    axes = fold_constants(function, node.inputs[1][0])
    source = node.inputs[0][0]
    taken = OpNode("", reduction.instance, function, source)
    rank = len(shape_of(training_graph, taken) or ()) if source >= 0 else 0
    return axes is None or -1 in axes or not rank or rank - 1 in axes


def _projected_from(training_graph: TrainingGraph, start: list[OpNode]) -> Iterator[OpNode]:
    """Yield what the layer reads that makes queries or keys; without a layer, these themselves."""
    level, seen = set(start), set(start)
    for _ in range(MAX_HOPS_TO_LAYER):
        made = {one for one in level if one.type in LAYER_PRODUCTS and training_graph.takes_weights(one)}
        yield from (one for one in _sources(training_graph, made) if one.type not in WHOLE_READS)
        passing = {one for one in level - made if one.type in PROJECTED_PASSES}
        yield from level - made - passing - {one for one in level if one.type in WHOLE_READS | {"Const"}}
        level = _sources(training_graph, passing) - seen
        seen |= level


def _takes_samples(training_graph: TrainingGraph, start: list[OpNode]) -> bool:
    before = _ancestors(training_graph, start) | set(start)
    return any(one.type.startswith(INPUT_OPS) or _takes_argument(training_graph, one) for one in before)


def _takes_argument(training_graph: TrainingGraph, op_node: OpNode) -> bool:
    """Return whether it reads an argument of the function that Python calls, which is no variable."""
    root = training_graph.process.catalogue.instances.get(training_graph.root_id(op_node))
    if root is None or op_node.instance is None:
        return False
    captures = training_graph.process.catalogue.functions[root.function].captures
    slots = training_graph.call_graphs.flow.input_sources(op_node.instance, op_node.node_index)
    return any(source.argument >= 0 and source.argument not in captures for slot in slots for source in slot)


def _ancestors(training_graph: TrainingGraph, start: Iterable[OpNode]) -> set[OpNode]:
    """Return the ops that values come from; those that only need a shape have no values."""
    level, seen = set(start), set[OpNode]()
    while level and len(seen) < MAX_WALKED_OPS:
        level = _sources(training_graph, (one for one in level if one.type not in SHAPE_ONLY_OPS)) - seen
        level = {one for one in level if one.type not in SHAPE_ONLY_OPS}
        seen |= level
    return seen


def _sources(training_graph: TrainingGraph, op_nodes: Iterable[OpNode]) -> set[OpNode]:
    return {one for spot in op_nodes for slot in training_graph.neighbours.input_ops(spot) for one in slot}
