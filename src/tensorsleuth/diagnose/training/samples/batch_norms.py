"""Features that are divided by the norm of the whole batch, as `tf.math.l2_normalize(x)` does without an axis."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.elementwise import ADDITIONS, DIVISIONS, EXTREMA, ROOTS
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.core.ops.views import ALL_COPIES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import MAX_HOPS_TO_WEIGHTS, TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.diagnose.training.eager_ops import differentiated_eager_ops
from tensorsleuth.diagnose.training.node_shapes import shape_of
from tensorsleuth.diagnose.training.samples.batch_sizes import batch_sizes
from tensorsleuth.trace.process.process import ProcessTrace

MAX_HOPS = 3  # an epsilon is added, or the larger one is taken
NORM_PASSES = EXTREMA | ADDITIONS | ROOTS | ALL_COPIES
SCALED_BY = DIVISIONS | {"Mul"}


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    scaled = [found for root in _roots(training) for found in _scaled(training, root)]
    sizes = batch_sizes(training) if scaled else set()
    yield from merge_same_line(_finding(training, *one) for one in scaled if _is_batch(training, one[0], sizes))


RULE = Rule(
    id="batch-norms",
    severity=Severity.WRONG,
    find=find,
    causes=("batch-mixed",),
    basis=Basis.GRAPH,
    supersedes=(
        "chance-loss",
        "predictions-collapsed",
        "zero-gradients",
    ),
)


def _roots(training_graph: TrainingGraph) -> Iterator[OpNode]:
    for one in training_graph.forward_ops(ROOTS):
        if training_graph.is_differentiated(one):
            yield one
    yield from (one for one, _ in differentiated_eager_ops(training_graph.process, ROOTS))


def _scaled(training_graph: TrainingGraph, root: OpNode) -> Iterator[tuple[OpNode, OpNode]]:
    """Yield each tensor that is divided by the norm of all of it, with the op that does."""
    for whole in _squared(training_graph, root):
        level = [root]
        for _ in range(MAX_HOPS):
            users = [user for one in level for user in training_graph.forward_consumers(one)]
            divisions = (user for user in users if user.type in SCALED_BY)
            yield from ((whole, user) for user in divisions if _takes(training_graph, user, whole))
            level = [user for user in users if user.type in NORM_PASSES]


def _squared(training_graph: TrainingGraph, root: OpNode) -> Iterator[OpNode]:
    """Yield the tensor of several samples whose squares are summed to one number under a root."""
    for total in _sources(training_graph, root):
        if total.type != "Sum" or any(size != 1 for size in shape_of(training_graph, total) or (0,)):
            continue
        for square in training_graph.neighbours.input_ops(total)[:1]:
            sources = [training_graph.neighbours.input_ops(one) for one in square if one.type in ("Square", "Mul")]
            yield from (slots[0][0] for slots in sources if slots and len({one for slot in slots for one in slot}) == 1)


def _sources(training_graph: TrainingGraph, root: OpNode) -> Iterator[OpNode]:
    level = [root]
    for _ in range(MAX_HOPS):
        level = [one for spot in level for slot in training_graph.neighbours.input_ops(spot) for one in slot]
        yield from level
        level = [one for one in level if one.type in NORM_PASSES]


def _takes(training_graph: TrainingGraph, user: OpNode, whole: OpNode) -> bool:
    """Return whether it takes the tensor, at most scaled by a number."""
    sources = [one for slot in training_graph.neighbours.input_ops(user) for one in slot]
    scaled = (one for one in sources if one.type == "Mul")
    return whole in sources or any(whole in slot for one in scaled for slot in training_graph.neighbours.input_ops(one))


def _is_batch(training_graph: TrainingGraph, whole: OpNode, sizes: set[int]) -> bool:
    """Return whether it holds the features of a batch, computed with weights, and is no weight itself."""
    shape = shape_of(training_graph, whole)
    if shape is None or len(shape) < 2 or shape[0] not in sizes or shape[1] == 1 or whole.type in VARIABLE_READS:
        return False
    before = training_graph.neighbours.ancestors(whole, MAX_HOPS_TO_WEIGHTS)
    return any(one.type in VARIABLE_READS for one in before)


def _finding(training_graph: TrainingGraph, whole: OpNode, scaled: OpNode) -> RuleFinding:
    shape = list(shape_of(training_graph, whole) or ())
    why = (
        f"divides {shape} by one norm, that of the whole batch: the features of a sample depend on the other samples, "
        "get smaller the more of them there are, and none has length 1"
    )
    frame = training_graph.frame(scaled)
    return RuleFinding(cause="batch-mixed", confidence=0.9, why=why, fix=_AXIS, frame=frame, op=scaled.type)


_AXIS = "take the norm of each sample: tf.math.l2_normalize(x, axis=-1), keras.layers.UnitNormalization()"
