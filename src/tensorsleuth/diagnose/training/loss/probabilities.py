"""Places where a loss takes numbers for probabilities or for logits: the inputs of logs and cross-entropies."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import CROSS_ENTROPIES, Training
from tensorsleuth.trace.dataflow.call_graph import constant_of

LOW, HIGH = 1e-3, 1 - 1e-3  # who clips to less than one of these and more than the other means probabilities
ALONG = frozenset(["Cast"])  # views are seen through by `Around`
DEPTH = 4  # ops


@dataclass(frozen=True)
class Clipped:
    """`log(clip(p, 1e-7, 1 - 1e-7))`: what Keras computes of outputs that are not said to be logits."""

    log: Spot
    minimum: Spot  # the first half of the clip
    given: Spot  # what is clipped; of shares of a sum, what is divided by it
    is_share: bool


def taken_for_probabilities(training: Training) -> Iterator[Clipped]:
    """Each clip between 0 and 1 whose logarithm is a part of a loss."""
    told: set[Spot] = set()
    for log in training.forward(("Log",)):
        clip = _before(training, log, "Maximum", ("AddV2", *ALONG))
        minimum = _before(training, clip, "Minimum", ALONG) if clip is not None else None
        if clip is None or minimum is None or minimum in told or not _is_between(training, clip, minimum):
            continue
        given = _computed(training, minimum)
        if given is not None and training.is_differentiated(log):
            told.add(minimum)
            whole = _whole(training, given)
            yield Clipped(log, minimum, whole or given, whole is not None)


def taken_for_logits(training: Training) -> Iterator[tuple[Spot, Spot]]:
    """Each cross-entropy of logits, softmax or sigmoid, that is differentiated, and the op that made its logits."""
    for loss in training.forward({*CROSS_ENTROPIES, "Log1p"}):
        slot = _sources(training, loss, 0) if loss.type in CROSS_ENTROPIES else _sigmoid_logits(training, loss)
        for logits in slot:
            before = _before(training, logits, "", ALONG) if logits.type in ALONG else logits
            if before is not None and training.is_differentiated(loss):
                yield loss, before


def sigmoid_losses(training: Training) -> Iterator[Spot]:
    """Yield the sum of each sigmoid cross-entropy of logits, sample by sample."""
    for spot in training.forward(("Log1p",)):
        if _sigmoid_logits(training, spot):
            yield from (user for user in training.around.after(spot) if user.type == "AddV2" and not user.is_gradient)


def _sigmoid_logits(training: Training, loss: Spot) -> list[Spot]:
    """TensorFlow computes it as … + log1p(exp(−|x|)), and −|x| as where(x >= 0, −x, x)."""
    exps = [one for one in _sources(training, loss, 0) if one.type == "Exp"]
    wheres = [one for exp in exps for one in _sources(training, exp, 0) if one.type in ("SelectV2", "Select")]
    return [one for where in wheres for one in _sources(training, where, 2)]


def _sources(training: Training, spot: Spot, slot: int) -> list[Spot]:
    slots = training.around.inputs(spot)
    return slots[slot] if slot < len(slots) else []


def _before(training: Training, spot: Spot, kind: str, through: Container[str]) -> Spot | None:
    """The op of a kind, or of any that is not passed through, that an op is computed from."""
    for _ in range(DEPTH):
        found = _computed(training, spot)
        if found is None or found.type == kind or (not kind and found.type not in through):
            return found
        if found.type not in through:
            return None
        spot = found
    return None


def _computed(training: Training, spot: Spot) -> Spot | None:
    """The one operand that is no constant."""
    operands = [one for slot in training.around.inputs(spot) for one in slot if _number(training, one) is None]
    return operands[0] if len(operands) == 1 else None


def _number(training: Training, spot: Spot, depth: int = DEPTH) -> float | None:
    """A single constant; Keras 2 has `1 - epsilon` computed in the graph."""
    node = spot.described
    if node is None:
        return None
    if node.type == "Const":
        value = constant_of(node)
        return value[0] if value is not None and len(value) == 1 else None
    if node.type not in ("Sub", *ALONG) or not depth:
        return None
    given = [_number(training, one, depth - 1) for slot in training.around.inputs(spot) for one in slot]
    if len(given) == 1:
        return given[0]
    return given[0] - given[1] if len(given) == 2 and given[0] is not None and given[1] is not None else None


def _is_between(training: Training, clip: Spot, minimum: Spot) -> bool:
    """Return whether it is clipped to just above 0 and just below 1."""
    least, most = (_bound(training, one) for one in (clip, minimum))
    return 0 < least <= LOW and HIGH <= most <= 1


def _bound(training: Training, spot: Spot) -> float:
    """The constant among its operands."""
    numbers = (_number(training, one) for slot in training.around.inputs(spot) for one in slot)
    return next((one for one in numbers if one is not None), 0.0)


def _whole(training: Training, share: Spot) -> Spot | None:
    """Return the tensor that is divided by its own sum."""
    if share.type not in ("RealDiv", "DivNoNan"):
        return None
    (parts, sums) = (_sources(training, share, slot) for slot in (0, 1))
    of = [one for total in sums if total.type == "Sum" for one in _sources(training, total, 0)]
    return parts[0] if len(parts) == 1 and parts == of else None
