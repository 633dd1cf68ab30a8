"""The state of tracing: whether a graph is built, whether XLA will compile it, whether it is only for saving."""

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
    """Return whether the current trace is for a SavedModel, which must load without tensorsleuth."""
    return bool(save_context.in_save_context())


def is_compiled(graph: Any = None) -> bool:
    """Return whether XLA will compile a graph, by default the current one."""
    return bool(control_flow_util.GraphOrParentsInXlaContext(ops.get_default_graph() if graph is None else graph))


def outermost_graph(graph: Any) -> Any:
    """Return the outermost function graph around a graph, or the graph itself in TensorFlow 1."""
    while getattr(graph, "outer_graph", None) is not None and hasattr(graph.outer_graph, "outer_graph"):
        graph = graph.outer_graph
    return graph
