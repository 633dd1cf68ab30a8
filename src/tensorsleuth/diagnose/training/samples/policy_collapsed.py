"""A policy that chooses one action in every state, with certainty: it explores no more, and its gradients are 0."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.samples.class_predictions import UNKNOWN, Classifier, classifiers, joined
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_LOOKS, FEWEST_SAMPLES = 2, 64  # of the second half of the steps
EARLY_LOOKS, FEWEST_EARLY = 2, 32  # the first sampled steps, and their samples, whose labels are of several classes
MAX_EARLY_SHARE = 0.8  # of the commonest of these labels
MIN_CERTAINTY = 0.98  # of the later samples, on average


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    found = classifiers(process)
    if len(found) == 1 and _was_open(found[0]):
        late = found[0].late()
        certainty = joined(late, "certainty")
        enough = len(late) >= FEWEST_LOOKS and len(certainty) >= FEWEST_SAMPLES
        action = _only_label(process, found[0]) if enough and certainty.mean() >= MIN_CERTAINTY else None
        if action is not None:
            yield _finding(process.cached(TrainingGraph), found[0], action)


RULE = Rule(id="policy-collapsed", severity=Severity.DOUBTFUL, find=find)


def _was_open(classifier: Classifier) -> bool:
    """Return whether the first labels were of several classes, as those of a policy that explores."""
    labels = joined(classifier.samples[:EARLY_LOOKS], "labels")
    if len(labels) < FEWEST_EARLY or UNKNOWN in labels:
        return False
    return bool(np.bincount(labels.astype(int)).max() <= MAX_EARLY_SHARE * len(labels))


def _only_label(process: ProcessTrace, classifier: Classifier) -> int | None:
    """Return the one label of all later samples; None if there are several, or if it is not known."""
    known = [one.labels for one in classifier.late()]
    if UNKNOWN in np.concatenate(known):
        given = _fed_labels(process, classifier)
        known = [given[one.step] for one in classifier.late() if one.step in given]
        if len(known) < len(classifier.late()):
            return None
    found = np.unique(np.concatenate([one.ravel() for one in known]))
    return int(found[0]) if len(found) == 1 else None


def _fed_labels(process: ProcessTrace, classifier: Classifier) -> dict[int, Array]:
    """Return the labels that Python passed, by step: a gradient of exactly 0 does not tell which one it was."""
    for part, loss in process.cached(ModelInputs).labels:
        if loss == classifier.loss:
            return part.values()
    return {}


def _finding(training_graph: TrainingGraph, classifier: Classifier, action: int) -> RuleFinding:
    sure = joined(classifier.late(), "certainty")
    total, certainty = len(sure), float(sure.mean())
    steps = ", ".join(str(one.step) for one in classifier.late())
    early = np.bincount(joined(classifier.samples[:EARLY_LOOKS], "labels").astype(int))
    why = (
        f"is certain of class {action} in all {total:,} samples of steps {steps} ({100 * certainty:.3g} % on average), "
        f"and all have that label. The first labels were of {int((early > 0).sum())} classes. If labels are actions "
        "that the model has chosen, the policy has collapsed. It explores no more, and its gradients are nearly 0"
    )
    return RuleFinding(
        confidence=0.6,
        why=why,
        fix=_EXPLORE,
        frame=training_graph.frame(classifier.loss),
        op=classifier.loss.type,
        evidence=(text_evidence("also", "first labels", ", ".join(f"{at}: {int(n)}" for at, n in enumerate(early))),),
    )


_EXPLORE = (
    "add the entropy of the policy to what is maximised (0.01 of it is where to begin), subtract a baseline from the "
    "returns, lower the learning rate; if one action is best in every state, nothing is wrong"
)
