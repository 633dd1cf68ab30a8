"""Logits that a loss takes for probabilities: it clips them, and their gradient is lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.loss.eager_probabilities import eager_clipped_probabilities
from tensorsleuth.diagnose.training.loss.probabilities import ClippedProbabilities, clipped_probabilities
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FEWEST_STEPS = 3  # in which they were outside: later they may have been pushed to where the clip lets them be
MIN_PROBABILITY, MAX_PROBABILITY = -1e-3, 1.01  # rounding does not get there


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    told: set[Frame | None] = set()
    for one in (*clipped_probabilities(training), *eager_clipped_probabilities(training)):
        rows = _rows(process, training, one)
        if _outside(rows, one.is_share).sum() >= FEWEST_STEPS:
            finding = _finding(training, one, rows)
            if finding.frame not in told:
                told.add(finding.frame)
                yield finding


RULE = Rule(
    id="logits-as-probabilities",
    severity=Severity.WRONG,
    find=find,
    supersedes=("frozen-weights", "learning-rate-too-high", "zero-gradients", "predictions-collapsed"),
)


def _rows(process: ProcessTrace, training_graph: TrainingGraph, one: ClippedProbabilities) -> Array:
    """Return the clipped values by step; for compiled functions, the layer's outputs at the samples."""
    seen = training_graph.output_rows((one.clipped_op, one.minimum))
    node = one.clipped_op.graph_node
    looks = [
        layer.rows for layer in process.cached(LayerStatistics).layers if node is not None and layer.op == node.name
    ]
    found = [*(seen[spot] for spot in (one.clipped_op,) if spot in seen), *looks, *seen.values()]
    return next(iter(found), process.events[:0])


def _outside(rows: Array, is_share: bool) -> Array:
    """Return in which steps they were no probabilities; normalized values may have any size, but one sign."""
    outside: Array = (rows["min"] < MIN_PROBABILITY) & (rows["max"] > 0 if is_share else True)
    return outside | ((rows["max"] > MAX_PROBABILITY) & (not is_share))


def _finding(training_graph: TrainingGraph, one: ClippedProbabilities, rows: Array) -> RuleFinding:
    low, high, layer = float(np.min(rows["min"])), float(np.max(rows["max"])), training_graph.layer(one.clipped_op)
    what = f" ({layer})" if layer else ""
    why = (
        f"computes a cross-entropy of outputs{what} as if they were probabilities, and they go from {low:.3g} to "
        f"{high:.3g}: the last layer has no softmax or sigmoid. They are clipped to 0 … 1 before the logarithm, and "
        "what is clipped has no gradient"
    )
    said = f"{low:.4g} … {high:.4g} in {len(rows):,} steps, expected 0 … 1"
    evidence = (text_evidence("in", layer or one.clipped_op.type, said, training_graph.frame(one.clipped_op)),)
    return RuleFinding(
        confidence=0.95,
        why=why,
        fix=_SAY,
        frame=training_graph.frame(one.log),
        op=one.clipped_op.type,
        step=0,
        evidence=evidence,
    )


_SAY = (
    "from_logits=True in the loss (keras.losses.SparseCategoricalCrossentropy(from_logits=True); its name as a text "
    "means probabilities), or activation='softmax' ('sigmoid' for binary) in the last layer; one of them, not both"
)
