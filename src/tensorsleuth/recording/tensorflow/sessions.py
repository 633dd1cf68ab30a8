"""TensorFlow's private parts for graphs and sessions of TensorFlow 1: see `recording/tensorflow/internals.py`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import pywrap_tf_session

from tensorsleuth.recording.tensorflow.internals import get_function


def function_in(graph: Any, name: str) -> Any | None:
    """Return the definition of a function that a session's graph calls."""
    function = graph._functions.get(name)
    for attribute in ("cached_definition", "definition"):
        definition = getattr(function, attribute, None)
        if definition is not None:
            return definition
    return get_function(name)


def trainable_variables(graph: Any) -> set[str]:
    """Return the names of the ops that hold a graph's trainable variables."""
    found = graph.get_collection(tf.compat.v1.GraphKeys.TRAINABLE_VARIABLES)
    return {variable.op.name for variable in found if hasattr(variable, "op")}


def train_op(graph: Any) -> Any | None:
    """Return the op that `minimize` returned last."""
    found = graph.get_collection(tf.compat.v1.GraphKeys.TRAIN_OP)
    return getattr(found[-1], "op", found[-1]) if found else None


def variable_shape(op: Any) -> list[int] | None:
    shape = tf.TensorShape(op.get_attr("shape"))
    return [-1 if size is None else size for size in shape.as_list()] if shape.rank is not None else None


def resolve_run(graph: Any, targets: Any, fetches: Any, feeds: Any) -> tuple[list[Any], list[Any], dict[Any, Any]]:
    """Convert the C API's targets, fetches and feeds to ops, tensors, and a dict from tensor references to values."""
    tensors = [graph._get_tensor_by_tf_output(output) for output in fetches]
    given = {graph._get_tensor_by_tf_output(output).ref(): value for output, value in feeds.items()}
    return [graph._get_operation_by_tf_operation(op) for op in targets], tensors, given


def watch_options(watches: Iterable[tuple[str, int, str]]) -> Any:
    """Return serialised RunOptions that add debug ops behind tensors, from (node, output, op)."""
    options = config_pb2.RunOptions()
    for node, output, op in watches:
        options.debug_options.debug_tensor_watch_opts.add(
            node_name=node, output_slot=output, debug_ops=[op], debug_urls=["memcbk:///sleuth"]
        )  # TensorFlow adds debug ops only if they have a destination; ours send nothing
    return pywrap_tf_session.TF_NewBufferFromString(options.SerializeToString())


delete_options = pywrap_tf_session.TF_DeleteBuffer


def optimizer_rounds(session: Any) -> int:
    """Return the number of graph optimizer passes over a session's graph; 0 for TensorFlow's default."""
    config = getattr(session, "_config", None)
    return int(config.graph_options.rewrite_options.meta_optimizer_iterations) if config is not None else 0


def why_not_optimized(session: Any) -> str | None:
    """Return the reason why the graph optimizer does not see a session's graphs; None if unknown."""
    config = getattr(session, "_config", None)
    if config is not None and config.graph_options.rewrite_options.disable_meta_optimizer:
        return "the graph optimizer is switched off"
    if config is not None and config.graph_options.place_pruned_graph:
        return "TensorFlow does not optimise what an InteractiveSession runs"
    return None


def datatype(tensor: Any) -> int:
    """Return the number of a tensor's dtype; for a reference, that of its target."""
    return int(tensor.dtype.base_dtype.as_datatype_enum)


def op_number(op: Any) -> int:
    """Return a number that grows with each op of a graph."""
    return int(op._id)
