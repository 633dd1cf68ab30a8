"""A classifier that predicts one class whatever it is shown, or leaves some classes out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.samples.class_predictions import UNKNOWN, Classifier, classifiers, joined
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS, ENOUGH_STEPS = 60, 200  # for a note, and for a problem: a slow start is none
FEWEST_LOOKS = 2  # sampled steps of the second half
FEWEST_SAMPLES, FEWEST_OF_CLASSES = 64, 128  # labels in them, for one class and for several
MAX_LABEL_SHARE = 0.8  # of the commonest label: with more, one answer is nearly always right
MIN_LOSS = 0.95  # of the loss of answering with the shares of the classes: with less, something has been learned
FEWEST_MISSING = 8  # labels of a class that is never predicted
MOST_SHOWN = 6


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    found = classifiers(process)
    if len(found) == 1 and found[0].last_step >= FEWEST_STEPS - 1:
        (classifier,) = found
        late = classifier.late()
        labels, predicted = joined(late, "labels"), joined(late, "predicted")
        if len(late) >= FEWEST_LOOKS and len(labels) >= FEWEST_SAMPLES and UNKNOWN not in labels:
            yield from _judge(process.cached(TrainingGraph), classifier, labels, predicted)


RULE = Rule(
    id="predictions-collapsed",
    severity=Severity.WRONG,
    find=find,
    supersedes=("chance-loss",),
    causes=("predictions-collapsed", "classes-never-predicted"),
    about_samples=True,
)


def _judge(
    training_graph: TrainingGraph, classifier: Classifier, labels: Array, predicted: Array
) -> Iterator[RuleFinding]:
    counts = np.bincount(labels, minlength=classifier.classes)
    answers = [np.unique(one.predicted) for one in classifier.late()]
    if all(len(one) == 1 for one in answers):
        entropy, loss = _entropy(counts), float(joined(classifier.late(), "losses").mean())
        if counts.max() <= MAX_LABEL_SHARE * len(labels) and loss >= MIN_LOSS * entropy:
            yield _collapsed(training_graph, classifier, counts, int(answers[-1][0]), loss, entropy)
        return
    missing = np.flatnonzero((counts >= FEWEST_MISSING) & ~np.isin(np.arange(len(counts)), predicted))
    if len(missing) and classifier.classes > 2 and len(labels) >= FEWEST_OF_CLASSES:
        yield _left_out(training_graph, classifier, counts, missing)


def _entropy(counts: Array) -> float:
    """Return the loss of a model that answers each sample with the shares of the classes."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _collapsed(
    training_graph: TrainingGraph, classifier: Classifier, counts: Array, answer: int, loss: float, entropy: float
) -> RuleFinding:
    total, steps = int(counts.sum()), ", ".join(str(one.step) for one in classifier.late())
    is_note = classifier.last_step < ENOUGH_STEPS - 1
    why = (
        f"predicts one class for all samples of a batch, in all {total:,} of steps {steps}, the last time {answer}. "
        f"Of these {100 * counts[answer] / total:.2g} % have that label, and there are {int((counts > 0).sum()):,} "
        f"classes. Their loss is {loss:.4g}, and answering with the shares of the classes costs {entropy:.4g}, so "
        f"nothing of the input is used{' yet' if is_note else ''}"
    )
    return RuleFinding(
        confidence=0.85,
        why=why,
        fix=_LOOK,
        frame=training_graph.frame(classifier.loss),
        op=classifier.loss.type,
        evidence=(text_evidence("also", "labels", _shares(counts, np.argsort(-counts))),),
        severity=Severity.DOUBTFUL if is_note else Severity.WRONG,
    )


def _left_out(training_graph: TrainingGraph, classifier: Classifier, counts: Array, missing: Array) -> RuleFinding:
    names = ", ".join(map(str, missing[:MOST_SHOWN])) + (", …" if len(missing) > MOST_SHOWN else "")
    steps, several = ", ".join(str(one.step) for one in classifier.late()), len(missing) > 1
    why = (
        f"never predicts {'classes' if several else 'class'} {names}: for none of the {int(counts.sum()):,} samples of "
        f"steps {steps}, of which {int(counts[missing].sum()):,} have {'these labels' if several else 'that label'}"
    )
    return RuleFinding(
        confidence=0.8,
        why=why,
        fix=_WEIGH,
        frame=training_graph.frame(classifier.loss),
        op=classifier.loss.type,
        evidence=(text_evidence("also", "labels", _shares(counts, missing)),),
        cause="classes-never-predicted",
        severity=Severity.NOTE,
    )


def _shares(counts: Array, classes: Array) -> str:
    """Return how many labels each class has: `3: 20, 1: 12`."""
    return ", ".join(f"{int(one)}: {int(counts[one])}" for one in classes[:MOST_SHOWN]) + f" of {int(counts.sum()):,}"


_LOOK = (
    "look whether inputs reach the model (scaled, not constant) and belong to their labels, then at the learning rate "
    "(try a tenth) and at dead layers; a model should be able to overfit ten samples"
)
_WEIGH = (
    "look at the confusion matrix; weigh rare classes (class_weight in fit) or draw them more often, and train longer"
)
