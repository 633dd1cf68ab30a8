"""The classes that a classifier predicts and the labels, in the sampled steps, from the gradients of its logits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.core.ops.products import PLAIN_MATMULS
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.core.ops.views import RESHAPES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.training.eager_ops import differentiated_eager_ops
from tensorsleuth.diagnose.training.node_shapes import shape_of
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

ROUNDING = 1e-3  # by which probabilities may lie outside of 0 … 1, in half precision
UNKNOWN = -1  # the class of a sample that is predicted so surely that its gradient is 0
RANK_OF_SAMPLES = 2  # of logits, one row a sample; those of tokens and pixels have more axes
MAX_VIEWS = 4
LEAST_PROBABILITY = 1e-12


@dataclass(frozen=True)
class Predictions:
    """The first samples of one step."""

    step: int
    labels: Array  # UNKNOWN if the prediction is certain and right
    predicted: Array  # the same
    losses: Array
    certainty: Array  # the largest probability of each sample


@dataclass(frozen=True)
class Classifier:
    """A softmax cross-entropy, and what it saw."""

    loss: OpNode
    classes: int
    samples: list[Predictions]  # oldest first

    @property
    def last_step(self) -> int:
        return self.samples[-1].step

    def late(self) -> list[Predictions]:
        """Return the samples of the second half of the steps."""
        return [one for one in self.samples if 2 * one.step >= self.last_step]


def classifiers(process: ProcessTrace) -> list[Classifier]:
    """Return the classifiers that a process trains, one label for each sample."""
    training, statistics = process.cached(TrainingGraph), process.cached(LayerStatistics)
    found = [(series, _loss(training, series)) for series in statistics.predictions]
    made = [_classifier(training, series, loss) for series, loss in found if loss is not None]
    return [one for one in made if one is not None]


def joined(samples: list[Predictions], name: str) -> Array:
    """Return one column of several steps."""
    return np.concatenate([getattr(one, name) for one in samples]) if samples else np.zeros(0)


def _loss(training_graph: TrainingGraph, series: WatchedSeries) -> OpNode | None:
    """Return the op that a series is about; in eager code, the only one."""
    if series.op is not None:
        nodes = training_graph.forward_ops(CROSS_ENTROPIES)
        return next((one for one in nodes if one.graph_node is not None and one.graph_node.name == series.op), None)
    eager = [op_node for op_node, _ in differentiated_eager_ops(training_graph.process, CROSS_ENTROPIES, 0)]
    return eager[0] if len(eager) == 1 else None


def _classifier(training_graph: TrainingGraph, series: WatchedSeries, loss: OpNode) -> Classifier | None:
    if not _has_one_row_a_sample(training_graph, loss):
        return None
    samples = [one for look in range(len(series)) for one in _decoded(series, look)]
    return Classifier(loss, series.shape()[-1], samples) if samples and len(samples) == len(series) else None


def _has_one_row_a_sample(training_graph: TrainingGraph, loss: OpNode) -> bool:
    """Return whether the logits have two axes: TensorFlow reshapes those that have more, as of tokens and pixels."""
    logits, direct = _logits(training_graph, loss), _type_of_input(loss)
    if direct is not None and direct not in RESHAPES:
        return True
    if logits is not None and _type_of_input(logits) in PLAIN_MATMULS:  # a bias was added to a matrix
        return True
    shape = shape_of(training_graph, logits) if logits is not None else None
    return shape is not None and len(shape) == RANK_OF_SAMPLES


def _type_of_input(op_node: OpNode) -> str | None:
    """Return the op before the first input in the same function, be it a view."""
    node, function = op_node.graph_node, op_node.function
    source = node.inputs[0][0] if node is not None and node.inputs else -1
    return function.nodes[source].type if function is not None and source >= 0 else None


def _logits(training_graph: TrainingGraph, loss: OpNode) -> OpNode | None:
    """Return the op that computes the logits, behind views."""
    op_node = loss
    for _ in range(MAX_VIEWS):
        sources = training_graph.neighbours.input_ops(op_node)[:1]
        if not sources or len(sources[0]) != 1:
            return None
        op_node = sources[0][0]
        if op_node.type not in VIEWS:
            return op_node
    return None


def _decoded(series: WatchedSeries, look: int) -> Iterator[Predictions]:
    """Yield the samples of a step, if each has one label: probability − 1 there, and the probability elsewhere."""
    values = series.value(look)
    if values is None or values.ndim != RANK_OF_SAMPLES or not len(values) or not np.isfinite(values).all():
        return
    gradients = values.astype(np.float64)
    rows, labels = np.arange(len(gradients)), gradients.argmin(axis=1)
    certain = ~gradients.any(axis=1)
    probabilities = gradients.copy()
    probabilities[rows, labels] += 1
    if probabilities.min() < -ROUNDING or np.abs(gradients.sum(axis=1)).max() > ROUNDING:
        return  # labels that are distributions, or weights
    predicted, right = probabilities.argmax(axis=1), probabilities[rows, labels]
    yield Predictions(
        int(series.steps[look]),
        np.where(certain, UNKNOWN, labels),
        np.where(certain, UNKNOWN, predicted),
        -np.log(np.clip(right, LEAST_PROBABILITY, 1.0)),
        probabilities.max(axis=1),
    )
