"""Summarizes a tensor with TensorFlow's ops on its own device, so that an accelerator copies only the summary.

The ops are traced once for each dtype and mode, into a function. Graphs call it by a node, eager code by its name. The
function returns the inputs of the op SleuthSummary: the counts of DebugNumericSummaryV2, `[min, max, mean, std,
first_bad]` of the finite values, and the shape. A device that flushes subnormals counts them as zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import tensorflow as tf

from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.tensorflow import internals

SUMMARIZED_DTYPES = frozenset(("float16", "bfloat16", "float32", "float64"))  # those of DebugNumericSummaryV2
SUMMARY_DTYPES = (tf.float64, tf.float64, tf.int64)
COUNTS_LENGTH = 11  # id, device, dtype, rank, elements, -inf, +inf, NaN, negative, zero, positive
MOMENTS_LENGTH = 5
_FULL_HEALTH = 4  # its number in TensorDebugMode


def can_summarize(dtype: int, look: int) -> bool:
    """Return whether a device can summarize this dtype in this mode. Modes without values always work."""
    return look < Mode.CURT_HEALTH or dtype_of(dtype).name in SUMMARIZED_DTYPES


def summary_nodes(name: str, source: str, dtype: int, device: str, look: int) -> tuple[list[Any], list[str]]:
    """Return the nodes that summarize `source`, and the inputs for SleuthSummary; nothing for an unsupported dtype."""
    if not can_summarize(dtype, look):
        return [], []
    node = internals.NodeDef(name=f"{name}/summary", op="PartitionedCall", input=[source], device=device)
    node.attr["f"].func.name = summary_function(dtype, look)
    node.attr["Tin"].list.type.append(dtype)
    node.attr["Tout"].list.type.extend(output.as_datatype_enum for output in SUMMARY_DTYPES)
    return [node], [f"{node.name}:output:{index}" for index in range(len(SUMMARY_DTYPES))]


def summary_function(dtype: int, look: int) -> str:
    """Return the name of the function that summarizes tensors of this dtype in this mode."""
    return str(_traced_summary(dtype, look).function_def.signature.name)


@cache  # keeps the Python object, without which TensorFlow drops the function
def _traced_summary(dtype: int, look: int) -> Any:
    with tf.init_scope(), tf.device(None):
        function = tf.function(_summary(look), autograph=False)
        return function.get_concrete_function(tf.TensorSpec(None, tf.as_dtype(dtype)))


def _summary(look: int) -> Callable[[Any], Any]:
    def sleuth_summary(tensor: Any) -> Any:
        shape = tf.shape(tensor, tf.int64)
        if look < Mode.CURT_HEALTH:
            return tf.zeros(COUNTS_LENGTH, tf.float64), tf.zeros(MOMENTS_LENGTH, tf.float64), shape
        counts = tf.raw_ops.DebugNumericSummaryV2(
            input=tensor, tensor_id=0, tensor_debug_mode=_FULL_HEALTH, output_dtype=tf.float64
        )
        return counts, _moments(tf.reshape(tensor, [-1]), tf.reduce_sum(counts[8:]), look), shape

    return sleuth_summary


def _moments(flat: Any, count: Any, look: int) -> Any:
    finite = tf.math.is_finite(flat)
    first_bad = tf.reduce_min(tf.where(tf.logical_not(finite)))  # argmax fails for empty tensors
    found = [tf.zeros([], tf.float64)] * 4
    if look >= Mode.FULL_HEALTH:
        found[:2] = _range(flat, finite, count)
    if look >= Mode.FULL_NUMERICS:
        found[2:] = _mean_and_std(flat, finite, count, tf.reduce_max(tf.abs(found[:2])))
    return tf.stack([*found, tf.cast(first_bad, tf.float64)])


def _range(flat: Any, finite: Any, count: Any) -> list[Any]:
    infinity, nan = tf.constant(float("inf"), flat.dtype), tf.constant(float("nan"), tf.float64)
    ends = tf.reduce_min(tf.where(finite, flat, infinity)), tf.reduce_max(tf.where(finite, flat, -infinity))
    return [tf.where(count > 0, tf.cast(end, tf.float64), nan) for end in ends]


def _mean_and_std(flat: Any, finite: Any, count: Any, size: Any) -> list[Any]:
    """Return mean and deviation. Scaling by a power of two avoids overflow, and two passes avoid cancellation."""
    wide = tf.float64 if flat.dtype == tf.float64 else tf.float32
    scale = tf.pow(tf.constant(2.0, tf.float64), tf.floor(tf.math.log(size) / math.log(2)))
    scaled = tf.math.divide_no_nan(tf.cast(flat, wide), tf.cast(scale, wide))
    zero = tf.zeros([], wide)
    about = _total(tf.where(finite, scaled, zero)) / count
    off = tf.where(finite, scaled - tf.cast(about, wide), zero)
    rest = _total(off) / count
    variance = tf.maximum(_total(off * off) / count - rest * rest, 0)
    return [(about + rest) * scale, tf.sqrt(variance) * scale]


def _total(values: Any) -> Any:
    return tf.cast(tf.reduce_sum(values), tf.float64)
