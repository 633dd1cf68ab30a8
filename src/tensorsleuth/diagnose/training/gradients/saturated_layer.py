"""A hidden layer whose tanh or sigmoid is at its ends for nearly every number: its slope is next to nothing there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.activations import STEEPEST, slope
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside
from tensorsleuth.trace.series.watched import WatchedSeries

FLAT = 0.02  # of the steepest, on average over all numbers
FEWEST_LOOKS, FEWEST_STEPS = 4, 16
LEAST = 64  # numbers
THROUGH = frozenset(["SelectV2", "Cast", "BiasAdd"])  # not Mul: gates are meant to open and close


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    seen = {one.op: one for one in process.once(Inside).layers}
    if not seen:
        return
    training = process.once(Training)
    for spot in training.forward(STEEPEST):
        one = seen.get(spot.described.name if spot.described is not None else "")
        if one is not None and _is_saturated(spot, one) and training.feeds_weights(spot, THROUGH):
            yield _finding(training, spot, one)


RULE = Rule(id="saturated-layer", severity=Severity.WRONG, find=find, supersedes=("zero-gradients",))


def _slopes(spot: Spot, one: WatchedSeries) -> Array:
    """The mean slope at each look, as a share of the steepest."""
    squares = one.rows["norm"] ** 2 / np.maximum(one.rows["elements"], 1)
    return np.asarray(slope(spot.type, one.mean, squares))


def _is_saturated(spot: Spot, one: WatchedSeries) -> bool:
    """At every look, the first among them: not what was learned."""
    enough = len(one) >= FEWEST_LOOKS and int(one.steps[-1]) >= FEWEST_STEPS and int(one.rows["elements"][0]) >= LEAST
    return enough and bool((_slopes(spot, one) < FLAT).all())


def _finding(training: Training, spot: Spot, one: WatchedSeries) -> RuleFinding:
    largest, layer = float(_slopes(spot, one).max()), training.layer(spot)
    name, share = spot.type.lower(), f"{100 * largest:.2g} %" if largest > 1e-4 else "less than 0.01 %"
    why = (
        f"puts {'±1' if name == 'tanh' else '0 and 1'} out{f' ({layer})' if layer else ''} for nearly every sample and "
        f"unit at each of {len(one)} samples up to step {int(one.steps[-1])}: the slope of {name} is {share} "
        "of its steepest there, so almost no gradient passes, and different inputs give the same output"
    )
    last = one.rows[-1]
    said = f"mean slope {share} of the steepest, range {last['min']:.4g} … {last['max']:.4g}"
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_SCALE,
        frame=training.frame(spot),
        op=spot.type,
        step=int(one.steps[0]),
        evidence=(piece("out", spot.type, said),),
    )


_SCALE = (
    "bring what goes in to about −1 … 1: standardise the features (keras.layers.Normalization), start with smaller "
    "weights (glorot_uniform), or put a normalisation before the activation"
)
