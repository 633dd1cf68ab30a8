"""The state of tracing: is it for a graph, will XLA compile it, is it only for saving."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_util
from tensorflow.python.saved_model import save_context


def is_symbolic(value: Any) -> bool:
    """Return whether it is a tensor of a graph."""
    return isinstance(value, tf.Tensor) and not isinstance(value, ops.EagerTensor)


def is_saving() -> bool:
    """Is what is traced now for a saved model, which has to load where we are not."""
    return bool(save_context.in_save_context())


def is_compiled(graph: Any = None) -> bool:
    """Will XLA compile a graph; the one that is being made where none is named."""
    return bool(control_flow_util.GraphOrParentsInXlaContext(ops.get_default_graph() if graph is None else graph))


def outermost_graph(graph: Any) -> Any:
    """The function around all functions that are being traced; the graph itself where it is of TensorFlow 1."""
    while getattr(graph, "outer_graph", None) is not None and hasattr(graph.outer_graph, "outer_graph"):
        graph = graph.outer_graph
    return graph
