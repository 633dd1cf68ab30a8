"""The shape of what an op puts out, in functions and in eager code alike."""

from __future__ import annotations

from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.shapes import ProcessShapes, Shape
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph


def shape_of(training_graph: TrainingGraph, op_node: OpNode) -> Shape | None:
    """Return the shape of an op's first output, if it was recorded or follows from its inputs."""
    if op_node.function is not None:
        return training_graph.process.cached(ProcessShapes).around_op(op_node).shape_of(op_node.node_index)
    return next((one.shape for one in training_graph.neighbours.recorded_outputs(op_node)), None)
