"""The number of samples in a batch, by what has one number for each of them."""

from __future__ import annotations

from tensorsleuth.core.ops.elementwise import DIFFERENCES
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.training.eager_ops import differentiated_eager_ops
from tensorsleuth.diagnose.training.node_shapes import shape_of
from tensorsleuth.diagnose.training.samples.batch_inputs import BatchInputs


def batch_sizes(training_graph: TrainingGraph) -> set[int]:
    """Return the lengths of labels, and of the losses of samples in eager code."""
    process = training_graph.process
    shapes = [one.shape for one in process.cached(BatchInputs).labels]
    losses = differentiated_eager_ops(process, CROSS_ENTROPIES | DIFFERENCES, 0)
    shapes += [shape_of(training_graph, one) for one, _ in losses]
    return {shape[0] for shape in shapes if shape and shape[0] > 1}
