"""A softmax or sigmoid output that a loss takes for logits: it is squashed twice, so the loss stays high."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES, SQUASHING_OPS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, class_count
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.loss.eager_probabilities import eager_logits
from tensorsleuth.diagnose.training.loss.probabilities import logits_of_losses
from tensorsleuth.trace.process.process import ProcessTrace


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    told: set[Frame | None] = set()
    for loss, logits in (*logits_of_losses(training), *eager_logits(training)):
        if logits.type in SQUASHING_OPS:
            finding = _finding(training, loss, logits)
            if finding.frame not in told:
                told.add(finding.frame)
                yield finding


RULE = Rule(
    id="probabilities-as-logits",
    severity=Severity.WRONG,
    find=find,
    supersedes=(
        "chance-loss",
        "predictions-collapsed",
    ),
    basis=Basis.GRAPH,
)


def _finding(training_graph: TrainingGraph, loss: OpNode, logits: OpNode) -> RuleFinding:
    first, layer, classes = SQUASHING_OPS[logits.type], training_graph.layer(logits), class_count(training_graph, loss)
    second = "softmax" if loss.type in CROSS_ENTROPIES else "sigmoid"
    why = (
        f"computes a cross-entropy of logits, but is given what a {first} put out{f' ({layer})' if layer else ''}, "
        f"between 0 and 1: the loss takes a {second} of it once more, so that no sample can lose less than "
        f"{_floor(second, classes)}, however confident the model is, and gradients are small"
    )
    evidence = (
        text_evidence("in", layer or logits.type, f"the output of {logits.type}", training_graph.frame(logits)),
    )
    return RuleFinding(
        confidence=0.95,
        why=why,
        fix=_ONCE,
        frame=training_graph.frame(loss),
        op=loss.type,
        step=0,
        evidence=evidence,
    )


def _floor(second: str, classes: int) -> str:
    """Return the least loss of a sample: with a 1 for its class and 0 for all others."""
    if second == "sigmoid":
        return f"{math.log1p(math.exp(-1)):.3g} (0.693 where its label is 0)"
    return f"{math.log1p((classes - 1) / math.e):.3g}" if classes > 1 else "log(1 + (classes − 1) / e)"


_ONCE = (
    "take the activation out of the last layer, so that it gives logits, or take a loss of probabilities "
    "(from_logits=False); where probabilities are needed, compute them beside the loss"
)
