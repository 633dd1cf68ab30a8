"""A binary classifier that gives every sample the same class: nearly all labels are of that class."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.loss.probabilities import clipped_probabilities, logits_of_losses
from tensorsleuth.diagnose.training.samples.batch_inputs import BatchInput, BatchInputs
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS, LAST_SHARE = 40, 4  # batches, and the part of them, from the end, that counts
FEWEST_RARE = 5  # labels of the class that is never predicted
MAX_POSITIONS = 64  # outputs of a sample: more than most have tags
MIN_ONE_SIDED = 0.9  # of those batches, in which no output is on the other side
MAX_RARE_SHARE = 0.3  # of the labels: with more of them, it is not balance that is wrong


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    predictions = list(_predictions(training))
    labels = _labels(process.cached(BatchInputs)) if len(predictions) == 1 else []
    for spot, border in predictions[:1] if labels else []:
        rows = training.output_rows([spot]).get(spot, process.events[:0])
        last = rows[-(len(rows) // LAST_SHARE) :]
        if len(rows) >= FEWEST_STEPS and _positions(process.shape_of(rows[-1])) <= MAX_POSITIONS:
            yield from _judge(training, spot, last, border, labels[0])


RULE = Rule(id="class-never-predicted", severity=Severity.NOTE, find=find, about_samples=True)


def _predictions(training_graph: TrainingGraph) -> Iterator[tuple[OpNode, float]]:
    """Yield what losses of two classes take, and the number between both classes."""
    for loss, logits in logits_of_losses(training_graph):
        if loss.type == "Log1p":
            yield logits, 0.0
    for one in clipped_probabilities(training_graph):
        if one.clipped_op.type == "Sigmoid":
            yield one.clipped_op, 0.5


def _labels(batch_inputs: BatchInputs) -> list[BatchInput]:
    """Return the labels of two classes; an autoencoder's are its inputs, and no classes."""
    sources = {(one.root, one.source) for one in batch_inputs.features if one.source is not None}
    return [one for one in batch_inputs.labels if _is_binary(one) and (one.root, one.source) not in sources]


def _positions(shape: tuple[int, ...] | None) -> int:
    """Return the number of outputs of a sample: the pixels of a picture are no predictions of classes."""
    return math.prod((shape or ())[1:])


def _is_binary(one: BatchInput) -> bool:
    numbers = one.numbers
    return float(numbers.min.min()) == 0 and float(numbers.max.max()) == 1


def _judge(
    training_graph: TrainingGraph, spot: OpNode, last: Array, border: float, labels: BatchInput
) -> Iterator[RuleFinding]:
    zeros, total = int(labels.numbers.zeros.sum()), int(labels.numbers.elements.sum())
    below, above = last["max"] < border, last["min"] > border
    missing = 1 if below.sum() > above.sum() else 0
    one_sided, rare = (below, total - zeros) if missing else (above, zeros)
    if one_sided.mean() < MIN_ONE_SIDED or rare < FEWEST_RARE or rare > MAX_RARE_SHARE * total:
        return
    why = (
        f"predicts class {missing} for no sample in {int(one_sided.sum()):,} of the last {len(last):,} batches: all "
        "outputs "
        f"are on one side of {border:g}. {rare:,} of {total:,} labels ({100 * rare / total:.2g} %) are of that class, "
        "so the "
        f"constant answer {1 - missing} has an accuracy of {100 * (1 - rare / total):.3g} %"
    )
    evidence = (text_evidence("also", "labels", f"{rare:,} of {total:,} are {missing}"),)
    yield RuleFinding(
        confidence=0.85,
        why=why,
        fix=_WEIGH,
        frame=training_graph.frame(spot),
        op=spot.type,
        evidence=evidence,
    )


_WEIGH = (
    "weigh the rare class (class_weight={0: 1, 1: 20} in fit, tf.nn.weighted_cross_entropy_with_logits), or draw it "
    "more "
    "often; measure precision and recall or the area under the curve in place of accuracy; train longer"
)
