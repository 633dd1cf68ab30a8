"""Judges TensorFlow's and Keras's objects: at once if they have values, else when the graph computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.expect import arrays, graphs
from tensorsleuth.live.expect.expectation import Expectation
from tensorsleuth.recording.calling_line import ProgramLine
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import tracing
from tensorsleuth.recording.violations.actions import handle_or_raise


def judge_tensor(leaf: Any, name: str, expected: Expectation, program_line: ProgramLine) -> Any:
    """Return the tensor to use instead: the same object except in graphs."""
    if isinstance(leaf, tf.EagerTensor):
        handle_or_raise(arrays.judge_array(expected, tf.array_of(leaf), name, program_line), expected.on_violation)
        return leaf
    if tracing.is_symbolic(leaf):
        return graphs.judge_in_graph(leaf, name, expected, program_line)
    if type(leaf).__name__ == "KerasTensor":
        from tensorsleuth.live.expect.keras_layer import judge_by_layer

        return judge_by_layer(leaf, name, expected, program_line)
    return _judge_composite(leaf, name, expected, program_line)


def _judge_composite(leaf: Any, name: str, expected: Expectation, program_line: ProgramLine) -> Any:
    kind = type(leaf).__name__
    if kind == "RaggedTensor":
        return _judge_ragged(leaf, name, expected, program_line)
    if kind in ("SparseTensor", "IndexedSlices"):
        return _judge_sparse(leaf, name, expected, program_line)
    value = _value_of_variable(leaf)
    if value is None:
        raise SleuthError(
            f"expect(): a {type(leaf).__module__}.{kind} cannot be checked. "
            "Pass a tensor, a variable, a ragged or sparse tensor, or a list, tuple or dict of these."
        )
    judge_tensor(value, name, expected, program_line)
    return leaf


def _value_of_variable(leaf: Any) -> Any | None:
    """Return the value of a variable of TensorFlow or Keras."""
    inner = getattr(leaf, "_value", leaf) if not isinstance(leaf, tf.Variable) else leaf
    if isinstance(inner, tf.Variable) or hasattr(inner, "read_value"):
        return tf.convert(inner)
    return None


def _judge_ragged(leaf: Any, name: str, expected: Expectation, program_line: ProgramLine) -> Any:
    if isinstance(leaf.flat_values, tf.EagerTensor):
        splits = [np.asarray(one) for one in leaf.nested_row_splits]
        found = arrays.judge_ragged(expected, tf.array_of(leaf.flat_values), splits, name, program_line)
        handle_or_raise(found, expected.on_violation)
        return leaf
    if expected.sums_to is not None or expected.increasing:
        raise SleuthError(
            "expect(sums_to=… or increasing=…): this rule cannot check the rows of a ragged tensor in a graph. "
            "Check tf.reduce_sum(x, axis=-1) or x.to_tensor() instead."
        )
    graphs.judge_static(leaf.dtype.name, _static(leaf), name, expected, program_line)
    values = graphs.judge_in_graph(leaf.flat_values, f"{name}.flat_values", expected.values_only(), program_line)
    return leaf.with_flat_values(values)


def _judge_sparse(leaf: Any, name: str, expected: Expectation, program_line: ProgramLine) -> Any:
    if expected.sums_to is not None or expected.increasing:
        raise SleuthError(
            "expect(sums_to=… or increasing=…): this rule cannot check a sparse tensor. Use tf.sparse.to_dense(x)."
        )
    if isinstance(leaf.values, tf.EagerTensor):
        found = arrays.judge_sparse(expected, tf.array_of(leaf.values), *_indices_and_sizes(leaf), name, program_line)
        handle_or_raise(found, expected.on_violation)
        return leaf
    graphs.judge_static(leaf.dtype.name, _static(leaf), name, expected, program_line)
    values = graphs.judge_in_graph(leaf.values, f"{name}.values", expected.values_only(), program_line)
    rest = (leaf.indices, values, leaf.dense_shape) if type(leaf).__name__ == "SparseTensor" else None
    return type(leaf)(*rest) if rest else type(leaf)(values, leaf.indices, leaf.dense_shape)


def _indices_and_sizes(leaf: Any) -> tuple[Any, tuple[Any, ...]]:
    indices = np.asarray(leaf.indices)
    if type(leaf).__name__ == "IndexedSlices":
        sizes = tuple(np.asarray(leaf.dense_shape)) if leaf.dense_shape is not None else (None, *leaf.values.shape[1:])
        return indices[:, None], sizes
    return indices, tuple(int(size) for size in np.asarray(leaf.dense_shape))


def _static(leaf: Any) -> list[int | None] | None:
    shape = leaf.shape
    return list(shape.as_list()) if shape.rank is not None else None
