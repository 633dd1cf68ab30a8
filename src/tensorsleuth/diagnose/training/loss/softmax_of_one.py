"""A softmax over a single unit: its output is 1 whatever the model computes.

As attention to a single key it is meant. It is not if the weights come from one unit, and another axis is summed with
them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.products import PRODUCTS
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES, SOFTMAXES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.eager_ops import differentiated_eager_ops
from tensorsleuth.diagnose.training.loss.unit_scores import weighs_along_another_axis
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS, MIN_ROWS = 4, 2
WEIGHINGS = PRODUCTS | {"Mul"}  # attention to a single key, a mixture of a single part


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    for spot, rows in _softmaxes(training):
        if len(rows) < FEWEST_STEPS:
            continue
        if _is_over_one(process, rows) and not _weighs(training, spot):
            yield _finding(training, spot, rows)
        elif weighs_along_another_axis(training, spot):
            yield _axis_finding(training, spot, rows)


RULE = Rule(
    id="softmax-of-one",
    severity=Severity.WRONG,
    find=find,
    supersedes=(
        "zero-gradients",
        "flat-loss",
        "chance-loss",
        "predictions-collapsed",
        "frozen-weights",
        "probabilities-as-logits",
    ),
)


def _softmaxes(training_graph: TrainingGraph) -> Iterator[tuple[OpNode, Array]]:
    """Yield each softmax, with rows that have its shape: its own or those of its logits."""
    for spot in training_graph.forward_ops(SOFTMAXES):
        logits = training_graph.neighbours.input_ops(spot)[:1]
        found = [*training_graph.output_rows(logits[0] if logits else ()).values()]
        found += training_graph.output_rows([spot], output=int(spot.type in CROSS_ENTROPIES)).values()
        if found:
            yield spot, found[-1]
    yield from differentiated_eager_ops(training_graph.process, SOFTMAXES)


def _is_over_one(process: ProcessTrace, rows: Array) -> bool:
    shapes = [
        process.shapes[number] for number in np.unique(rows["shape"]).tolist() if 0 < number < len(process.shapes)
    ]
    return bool(shapes) and all(len(one) == 2 and one[-1] == 1 and one[0] >= MIN_ROWS for one in shapes)


def _weighs(training_graph: TrainingGraph, op_node: OpNode) -> bool:
    return any(user.type in WEIGHINGS for user in training_graph.forward_consumers(op_node))


def _finding(training_graph: TrainingGraph, op_node: OpNode, rows: Array) -> RuleFinding:
    shape = training_graph.process.shape_of(rows[0]) or ()
    cut = op_node.function is None or training_graph.is_differentiated(op_node)
    so = "no gradient comes back and nothing is learned" if cut else "the model predicts the same for all of them"
    why = (
        f"takes a softmax over a single unit ({list(shape)}): that is 1 for every sample, whatever the weights, so {so}"
    )
    return RuleFinding(
        confidence=0.95,
        why=why,
        fix=_TWO,
        frame=training_graph.frame(op_node),
        op=op_node.type,
        step=0,
        evidence=(text_evidence("out", op_node.type, f"{list(shape)} in all {len(rows):,} steps"),),
    )


def _axis_finding(training_graph: TrainingGraph, op_node: OpNode, rows: Array) -> RuleFinding:
    shape = list(training_graph.process.shape_of(rows[0]) or ())
    why = (
        f"takes the softmax of {shape} over the last axis, which is a single unit, and weighs the elements of another "
        "axis with it: every weight is 1, so nothing is chosen, and the layer that makes the scores learns nothing"
    )
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=_AXIS,
        frame=training_graph.frame(op_node),
        op=op_node.type,
        step=0,
        evidence=(text_evidence("out", op_node.type, f"{shape} in all {len(rows):,} steps"),),
    )


_AXIS = (
    "take the softmax over the axis that is summed afterwards: axis=1 of [batch, time, 1], axis=0 of [parts, batch, 1]"
)
_TWO = (
    "for two classes use a sigmoid with a binary cross-entropy (Dense(1, activation='sigmoid')), or a softmax over two "
    "units with labels 0 and 1"
)
