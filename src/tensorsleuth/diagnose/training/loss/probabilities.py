"""Places where a loss takes numbers for probabilities or for logits: the inputs of logs and cross-entropies."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.trace.dataflow.call_graph import constant_of

MAX_LOW_CLIP, MIN_HIGH_CLIP = (
    1e-3,
    1 - 1e-3,
)  # who clips to less than one of these and more than the other means probabilities
PASS_THROUGH = frozenset(["Cast"])  # views are seen through by `Around`
MAX_HOPS = 4  # ops


@dataclass(frozen=True)
class ClippedProbabilities:
    """`log(clip(p, 1e-7, 1 - 1e-7))`: what Keras computes from outputs that are not declared logits."""

    log: OpNode
    minimum: OpNode  # the first half of the clip
    clipped_op: OpNode  # what is clipped; of shares of a sum, what is divided by it
    is_share: bool


def clipped_probabilities(training_graph: TrainingGraph) -> Iterator[ClippedProbabilities]:
    """Yield each clip between 0 and 1 whose logarithm is part of a loss."""
    told: set[OpNode] = set()
    for log in training_graph.forward_ops(("Log",)):
        clip = _op_before(training_graph, log, "Maximum", ("AddV2", *PASS_THROUGH))
        minimum = _op_before(training_graph, clip, "Minimum", PASS_THROUGH) if clip is not None else None
        if clip is None or minimum is None or minimum in told or not _is_between(training_graph, clip, minimum):
            continue
        given = _computed_operand(training_graph, minimum)
        if given is not None and training_graph.is_differentiated(log):
            told.add(minimum)
            whole = normalised_tensor(training_graph, given)
            yield ClippedProbabilities(log, minimum, whole or given, whole is not None)


def logits_of_losses(training_graph: TrainingGraph) -> Iterator[tuple[OpNode, OpNode]]:
    """Yield each differentiated cross-entropy of logits, softmax or sigmoid, and the op that made its logits."""
    for loss in training_graph.forward_ops({*CROSS_ENTROPIES, "Log1p"}):
        slot = (
            _sources(training_graph, loss, 0) if loss.type in CROSS_ENTROPIES else sigmoid_logits(training_graph, loss)
        )
        for logits in slot:
            before = _op_before(training_graph, logits, "", PASS_THROUGH) if logits.type in PASS_THROUGH else logits
            if before is not None and training_graph.is_differentiated(loss):
                yield loss, before


def sigmoid_losses(training_graph: TrainingGraph) -> Iterator[OpNode]:
    """Yield the sum of each sigmoid cross-entropy of logits, sample by sample."""
    for spot in training_graph.forward_ops(("Log1p",)):
        if sigmoid_logits(training_graph, spot):
            yield from (
                user
                for user in training_graph.neighbours.consumers(spot)
                if user.type == "AddV2" and not user.is_gradient
            )


def sigmoid_logits(training_graph: TrainingGraph, loss: OpNode) -> list[OpNode]:
    """Return the logits of … + log1p(exp(−|x|)); TensorFlow computes −|x| as where(x >= 0, −x, x)."""
    exps = [one for one in _sources(training_graph, loss, 0) if one.type == "Exp"]
    wheres = [one for exp in exps for one in _sources(training_graph, exp, 0) if one.type in ("SelectV2", "Select")]
    return [one for where in wheres for one in _sources(training_graph, where, 2)]


def _sources(training_graph: TrainingGraph, op_node: OpNode, slot: int) -> list[OpNode]:
    slots = training_graph.neighbours.input_ops(op_node)
    return slots[slot] if slot < len(slots) else []


def _op_before(training_graph: TrainingGraph, op_node: OpNode, kind: str, through: Container[str]) -> OpNode | None:
    """Return the ancestor of a type, or the first that is not passed through."""
    for _ in range(MAX_HOPS):
        found = _computed_operand(training_graph, op_node)
        if found is None or found.type == kind or (not kind and found.type not in through):
            return found
        if found.type not in through:
            return None
        op_node = found
    return None


def _computed_operand(training_graph: TrainingGraph, op_node: OpNode) -> OpNode | None:
    """Return the only operand that is not constant."""
    operands = [
        one
        for slot in training_graph.neighbours.input_ops(op_node)
        for one in slot
        if _constant_number(training_graph, one) is None
    ]
    return operands[0] if len(operands) == 1 else None


def _constant_number(training_graph: TrainingGraph, op_node: OpNode, depth: int = MAX_HOPS) -> float | None:
    """Return a constant scalar; Keras 2 computes `1 - epsilon` in the graph."""
    node = op_node.graph_node
    if node is None:
        return None
    if node.type == "Const":
        value = constant_of(node)
        return value[0] if value is not None and len(value) == 1 else None
    if node.type not in ("Sub", *PASS_THROUGH) or not depth:
        return None
    given = [
        _constant_number(training_graph, one, depth - 1)
        for slot in training_graph.neighbours.input_ops(op_node)
        for one in slot
    ]
    if len(given) == 1:
        return given[0]
    return given[0] - given[1] if len(given) == 2 and given[0] is not None and given[1] is not None else None


def _is_between(training_graph: TrainingGraph, clip: OpNode, minimum: OpNode) -> bool:
    """Return whether it is clipped to just above 0 and just below 1."""
    least, most = (_bound(training_graph, one) for one in (clip, minimum))
    return 0 < least <= MAX_LOW_CLIP and MIN_HIGH_CLIP <= most <= 1


def _bound(training_graph: TrainingGraph, op_node: OpNode) -> float:
    """Return the constant among its operands."""
    numbers = (
        _constant_number(training_graph, one) for slot in training_graph.neighbours.input_ops(op_node) for one in slot
    )
    return next((one for one in numbers if one is not None), 0.0)


def normalised_tensor(training_graph: TrainingGraph, share: OpNode) -> OpNode | None:
    """Return the tensor that is divided by its own sum."""
    if share.type not in ("RealDiv", "DivNoNan"):
        return None
    (parts, sums) = (_sources(training_graph, share, slot) for slot in (0, 1))
    of = [one for total in sums if total.type == "Sum" for one in _sources(training_graph, total, 0)]
    return parts[0] if len(parts) == 1 and parts == of else None
