"""TensorFlow's errors: a description of the inputs, and the message that the bare program would have got."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tensorsleuth.recording.tensorflow import internals as tf

MAX_INPUTS = 16
MAX_ELEMENTS = 1_000_000
_NOT_DATA = "resource"  # the dtype of a variable's handle
_PROBE_NODES = re.compile(r"sleuth/|Sleuth(Probe|Call|Summary)|sleuth_call|Failed to bind all placeholders")
_COPY_SUFFIX = re.compile(r"__sleuth_\d+_\d+(_root)?")
# For a node of an inlined function, TensorFlow's message names that function. In our copies it also names the root.
_ROOT_COPY = re.compile(r"\{\{function_node [^{}]*__sleuth_\d+_\d+_root\}\}(?=\{\{node )")


def describe_inputs(inputs: Sequence[Any]) -> list[str]:
    """Describe each input in a few words: dtype, shape and range."""
    return [text for text in (_describe(value) for value in inputs[:MAX_INPUTS]) if text and _NOT_DATA not in text]


def _describe(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_describe(item) for item in value[:MAX_INPUTS]) + "]"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{getattr(value.dtype, 'name', value.dtype)} {list(value.shape)}{_range(value)}"
    return repr(value)[:80] if isinstance(value, int | float | bool) else ""


def _range(value: Any) -> str:
    """Return the smallest and the largest value of a tensor, or "" if they are not quickly available."""
    try:
        array = tf.array_of(value)
        quick = 0 < array.size <= MAX_ELEMENTS and array.dtype.kind in "iuf"
        return f", {_number(array.min())} … {_number(array.max())}" if quick else ""
    except Exception:  # symbolic, on a device, or ragged: leave the range out
        return ""


def _number(value: Any) -> str:
    return str(value) if value.dtype.kind in "iu" else f"{value:.4g}"


def restore_message(error: Any) -> None:
    """Remove the names of our copies from the error's message."""
    message = getattr(error, "message", None)
    if isinstance(message, str) and _COPY_SUFFIX.search(message):
        setattr(error, tf.message_attribute(error), _COPY_SUFFIX.sub("", _ROOT_COPY.sub("", message)))


def is_caused_by_copy(error: Any) -> bool:
    """Return whether the error names nodes that only the watched copy has, or says that the copy cannot be built."""
    return bool(_PROBE_NODES.search(_COPY_SUFFIX.sub("", str(getattr(error, "message", error)))))
