"""Probabilities and logits that eager losses take: what `probabilities` finds in functions."""

from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.elementwise import ADDITIONS
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.training.eager_ops import differentiated_eager_ops
from tensorsleuth.diagnose.training.loss.probabilities import (
    MAX_LOW_CLIP,
    MIN_HIGH_CLIP,
    PASS_THROUGH,
    ClippedProbabilities,
    normalised_tensor,
    sigmoid_logits,
)

FEWEST_STEPS = 3
MAX_HOPS = 6  # ops, views included
SKIPPED = PASS_THROUGH | VIEWS


def eager_logits(training_graph: TrainingGraph) -> Iterator[tuple[OpNode, OpNode]]:
    """Yield each differentiated cross-entropy of logits, and the op that made its logits."""
    process = training_graph.process
    for loss, rows in differentiated_eager_ops(process, {*CROSS_ENTROPIES, "Log1p"}, 0):
        if len(rows) >= FEWEST_STEPS:
            slots = training_graph.neighbours.input_ops(loss)
            given = slots[0] if loss.type in CROSS_ENTROPIES and slots else sigmoid_logits(training_graph, loss)
            yield from ((loss, made) for one in given if (made := _behind(training_graph, one, SKIPPED)) is not None)


def eager_clipped_probabilities(training_graph: TrainingGraph) -> Iterator[ClippedProbabilities]:
    """Yield each clip between 0 and 1 whose logarithm is part of a loss.

    The bounds are Python numbers, which are not recorded: the smallest output shows the lower one.
    """
    for log, _ in differentiated_eager_ops(training_graph.process, ("Log",), 0):
        clip = _single_input(training_graph, log, "Maximum", SKIPPED | ADDITIONS)  # Keras 2 adds another epsilon
        minimum = _single_input(training_graph, clip, "Minimum", SKIPPED) if clip is not None else None
        sources = _tensors(training_graph, minimum) if minimum is not None else []
        if (
            clip is not None
            and minimum is not None
            and len(sources) == 1
            and _is_between(training_graph, clip, minimum)
        ):
            given = _behind(training_graph, sources[0], SKIPPED) or sources[0]
            whole = normalised_tensor(training_graph, given)
            yield ClippedProbabilities(log, minimum, whole or given, whole is not None)


def _inputs(training_graph: TrainingGraph, op_node: OpNode) -> list[OpNode]:
    return [one for slot in training_graph.neighbours.input_ops(op_node) for one in slot]


def _tensors(training_graph: TrainingGraph, op_node: OpNode) -> list[OpNode]:
    """Return the inputs that are no numbers, as bounds are."""
    neighbours = training_graph.neighbours
    return [
        one for one in _inputs(training_graph, op_node) if any(made.shape for made in neighbours.recorded_outputs(one))
    ]


def _single_input(training_graph: TrainingGraph, op_node: OpNode, kind: str, through: Container[str]) -> OpNode | None:
    found = [_behind(training_graph, one, through) for one in _inputs(training_graph, op_node)]
    return next((one for one in found if one is not None and one.type == kind), None)


def _behind(training_graph: TrainingGraph, op_node: OpNode, through: Container[str]) -> OpNode | None:
    """Return the op that computed a tensor, at most cast or reshaped since."""
    for _ in range(MAX_HOPS):
        if op_node.type not in through:
            return op_node
        sources = _tensors(training_graph, op_node)
        if len(sources) != 1:
            return None
        op_node = sources[0]
    return None


def _is_between(training_graph: TrainingGraph, clip: OpNode, minimum: OpNode) -> bool:
    """Return whether outputs were clipped at one number just above 0, and are never above 1."""
    rows = training_graph.output_rows((clip, minimum))
    if clip not in rows or minimum not in rows or len(rows[clip]) < FEWEST_STEPS:
        return False
    lowest, highest = float(rows[clip]["min"].min()), float(rows[minimum]["max"].max())
    is_clipped = int((rows[clip]["min"] == lowest).sum()) >= FEWEST_STEPS
    return is_clipped and 0 < lowest <= MAX_LOW_CLIP and highest <= 1 and _reaches_bound(rows[minimum], highest)


def _reaches_bound(rows: Array, highest: float) -> bool:
    """Return whether the largest output is a bound just below 1, or nothing came near one."""
    return highest >= MIN_HIGH_CLIP or int(np.sum(rows["max"] == highest)) == 1
