"""A hidden layer whose tanh or sigmoid is saturated for nearly every number: its slope there is almost 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.activations import MAX_SLOPES, relative_slope
from tensorsleuth.core.ops.elementwise import SATURATED_UNIT_PASSES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, element_counts
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.eager_ops import feeds_product
from tensorsleuth.diagnose.training.gradients.flat_activation import activation_gradients, zero_shares
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

MAX_MEAN_SLOPE = 0.02  # of the steepest, on average over all numbers
FEWEST_SAMPLES, FEWEST_STEPS = 4, 16
MIN_ELEMENTS = 64  # numbers
FEWEST_ROWS, MIN_ZERO_SHARE = 8, 0.8  # if only gradients tell: steps, and the share that is exactly 0 in each


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    seen = {one.op: one for one in process.cached(LayerStatistics).layers}
    training = process.cached(TrainingGraph)
    if not seen:
        yield from _by_gradients(training)
        return
    for spot in training.forward_ops(MAX_SLOPES):
        one = seen.get(spot.graph_node.name if spot.graph_node is not None else "")
        if one is not None and _is_saturated(spot, one) and training.feeds_next_layer(spot, SATURATED_UNIT_PASSES):
            yield _finding(training, spot, one)


RULE = Rule(
    id="saturated-layer",
    severity=Severity.WRONG,
    find=find,
    supersedes=(
        "step-length",
        "zero-gradients",
        "predictions-collapsed",
    ),
)


def _by_gradients(training_graph: TrainingGraph) -> Iterator[RuleFinding]:
    """Judge by the gradients that come back, where no layer was sampled, as in sessions and code without layers."""
    for spot, rows in activation_gradients(training_graph):
        shares = zero_shares(rows)
        enough = len(rows) >= FEWEST_ROWS and int(element_counts(rows).min()) >= MIN_ELEMENTS
        if enough and bool((shares >= MIN_ZERO_SHARE).all()) and feeds_product(training_graph, spot):
            yield _zero_finding(training_graph, spot, float(shares.mean()), len(rows))


def _slopes(op_node: OpNode, one: WatchedSeries) -> Array:
    """Return the mean slope in each sample, as a share of the steepest."""
    squares = one.rows["norm"] ** 2 / np.maximum(one.rows["elements"], 1)
    return np.asarray(relative_slope(op_node.type, one.mean, squares))


def _is_saturated(op_node: OpNode, one: WatchedSeries) -> bool:
    """Return whether it is saturated in every sample, the first included: it did not learn that."""
    enough = (
        len(one) >= FEWEST_SAMPLES
        and int(one.steps[-1]) >= FEWEST_STEPS
        and int(one.rows["elements"][0]) >= MIN_ELEMENTS
    )
    return enough and bool((_slopes(op_node, one) < MAX_MEAN_SLOPE).all())


def _finding(training_graph: TrainingGraph, op_node: OpNode, one: WatchedSeries) -> RuleFinding:
    largest, layer = float(_slopes(op_node, one).max()), training_graph.layer(op_node)
    name, share = op_node.type.lower(), f"{100 * largest:.2g} %" if largest > 1e-4 else "less than 0.01 %"
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
        frame=training_graph.frame(op_node),
        op=op_node.type,
        step=int(one.steps[0]),
        evidence=(text_evidence("out", op_node.type, said),),
    )


def _zero_finding(training_graph: TrainingGraph, op_node: OpNode, share: float, steps: int) -> RuleFinding:
    name = op_node.type.lower()
    why = (
        f"puts {'±1' if name == 'tanh' else '0 and 1'} out for nearly every sample and unit: the gradient that passes "
        f"back through {name} is exactly 0 for {100 * share:.3g} % of them in {steps:,} steps, the first included, so "
        "the layers before it do not learn, and different inputs give the same output"
    )
    return RuleFinding(
        confidence=0.88,
        why=why,
        fix=_SCALE,
        frame=training_graph.frame(op_node),
        op=op_node.type,
        step=0,
        evidence=(text_evidence("out", op_node.type, f"gradient 0 for {100 * share:.3g} %"),),
    )


_SCALE = (
    "bring what goes in to about −1 … 1: standardise the features (keras.layers.Normalization), start with smaller "
    "weights (glorot_uniform), or put a normalisation before the activation"
)
