"""The op between a loss and the weights that lets no gradient through."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.kinds import READS
from tensorsleuth.diagnose.graph.neighbours import MAX_WIDTH, Spot
from tensorsleuth.diagnose.graph.training import FAR, Training

# Steps: flat wherever they are not broken, so that their slope is 0, or TensorFlow knows none.
STEPS = frozenset(["Sign", "Round", "Rint", "Floor", "Ceil", "FloorDiv", "ArgMax", "ArgMin", "OneHot", "Bucketize"])
COMPARES = frozenset(["Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual"])
CUTS = frozenset(["StopGradient", "PreventGradient", "PyFunc", "EagerPyFunc", "PyFuncStateless"])
ENDS = frozenset(["Minimum", "Maximum", "Relu", "Relu6", "ClipByValue"])  # flat where all of it lies beyond
DEEP = 3 * FAR  # ops from the loss


def what_stops(training: Training, loss: Spot) -> Spot | None:
    """The nearest to the loss of those that are computed from weights."""
    level, seen = [loss], {loss}
    for _ in range(DEEP):
        sources = [one for spot in level for one in _inputs(training, spot) if one not in seen]
        level = list(dict.fromkeys(sources))[:MAX_WIDTH]
        seen.update(level)
        for one in level:
            if _stops(training, one) and _is_of_weights(training, one):
                return one
    return None


def _inputs(training: Training, spot: Spot) -> Iterator[Spot]:
    """Return the inputs of an op one by one: a gradient may stop where `Around` sees through."""
    function = spot.function
    for number, _ in spot.described.inputs if function is not None and spot.described is not None else ():
        if number >= 0 and function is not None and function.nodes[number].type in CUTS:
            yield Spot(function.nodes[number].type, spot.instance, function, number)
    yield from (one for slot in training.around.inputs(spot) for one in slot)


def _stops(training: Training, spot: Spot) -> bool:
    if spot.type in STEPS | COMPARES | CUTS:
        return True
    return spot.type in ENDS and any(_is_flat(rows) for rows in training.rows((spot,)).values())


def _is_flat(rows: Array) -> bool:
    """Is all that came out the same number, at the end as well."""
    return bool(rows["min"][-1] == rows["max"][-1] and (rows["min"] == rows["max"]).mean() > 1 / 2)


def _is_of_weights(training: Training, spot: Spot) -> bool:
    return any(one.type in READS for one in training.around.before(spot, DEEP))
