"""Errors that TensorFlow raises: what met there, and the message as the bare program would have had it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tensorsleuth.recording.tensorflow import internals as tf

MAX_INPUTS = 16
MAX_ELEMENTS = 1_000_000
_NOT_DATA = "resource"  # a variable's handle
_PROBE_NODES = re.compile(r"sleuth/|Sleuth(Probe|Call|Summary)|sleuth_call|Failed to bind all placeholders")
_COPY_SUFFIX = re.compile(r"__sleuth_\d+_\d+(_root)?")
# TensorFlow names the function of a node that was inlined; in our copies also that of the outermost function's.
_ROOT_COPY = re.compile(r"\{\{function_node [^{}]*__sleuth_\d+_\d+_root\}\}(?=\{\{node )")


def describe_inputs(inputs: Sequence[Any]) -> list[str]:
    """Dtype, shape and range of what went in, in a few words each."""
    return [text for text in (_describe(value) for value in inputs[:MAX_INPUTS]) if text and _NOT_DATA not in text]


def _describe(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_describe(item) for item in value[:MAX_INPUTS]) + "]"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{getattr(value.dtype, 'name', value.dtype)} {list(value.shape)}{_range(value)}"
    return repr(value)[:80] if isinstance(value, int | float | bool) else ""


def _range(value: Any) -> str:
    """The smallest and the largest of a tensor's values, where that is quickly told."""
    try:
        array = tf.array_of(value)
        quick = 0 < array.size <= MAX_ELEMENTS and array.dtype.kind in "iuf"
        return f", {_number(array.min())} … {_number(array.max())}" if quick else ""
    except Exception:  # symbolic, on a device, ragged: it is only said less
        return ""


def _number(value: Any) -> str:
    return str(value) if value.dtype.kind in "iu" else f"{value:.4g}"


def restore_message(error: Any) -> None:
    """Take the names of our copies out of the error's message."""
    message = getattr(error, "message", None)
    if isinstance(message, str) and _COPY_SUFFIX.search(message):
        setattr(error, tf.message_attribute(error), _COPY_SUFFIX.sub("", _ROOT_COPY.sub("", message)))


def is_caused_by_copy(error: Any) -> bool:
    """Does the error speak of nodes that only the watched copy has, or of a copy that cannot be built."""
    return bool(_PROBE_NODES.search(_COPY_SUFFIX.sub("", str(getattr(error, "message", error)))))
