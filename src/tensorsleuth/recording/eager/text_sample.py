"""Samples strings evenly from a value, without copying the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import STRING
from tensorsleuth.recording.tensorflow import internals as tf

MAX_TEXTS_PER_ROW = 64  # in lists of lists
_INT32, _INT64 = 3, 9
_RESHAPE_ATTRIBUTES = ("T", STRING, "Tshape", _INT32)
_GATHER_ATTRIBUTES = ("Tparams", STRING, "Tindices", _INT64, "Taxis", _INT32, "batch_dims", 0)


def sample_texts(value: Any, most: int) -> Iterator[tuple[int, bytes]]:
    """Yield texts of a list, array or tensor with their rows. Even the first few come from all parts of the value."""
    if isinstance(value, str | bytes):
        yield 0, _as_bytes(value)
    elif isinstance(value, tf.EagerTensor):
        yield from _of_tensor(value, most)
    elif isinstance(value, list | tuple):
        yield from _of_list(value, most)
    elif hasattr(value, "__array__"):
        yield from _of_array(np.asarray(value), most)


def _of_list(value: Any, most: int) -> Iterator[tuple[int, bytes]]:
    for row in _sampled_positions(len(value), most):
        one = value[row]
        for text in one[:MAX_TEXTS_PER_ROW] if isinstance(one, list | tuple) else [one]:
            if isinstance(text, str | bytes):
                yield int(row), _as_bytes(text)


def _of_array(value: Any, most: int) -> Iterator[tuple[int, bytes]]:
    flat, each = value.reshape(-1), max(1, value.size // max(1, len(value) if value.ndim else 1))
    for place in _sampled_positions(flat.size, most) if value.dtype.kind in "OSU" else ():
        if isinstance(flat[place], str | bytes):
            yield int(place) // each, _as_bytes(flat[place])


def _of_tensor(tensor: Any, most: int) -> Iterator[tuple[int, bytes]]:
    """Copy only the sampled strings to Python."""
    size, rows = int(tensor.shape.num_elements()), int(tensor.shape[0]) if tensor.shape.rank else 1
    places = _sampled_positions(size, most)
    if size > most:
        (flat,) = tf.run_op("Reshape", [tensor, _numbers([-1], np.int32)], _RESHAPE_ATTRIBUTES, 1)
        taken = [flat, _numbers(places, np.int64), _numbers(0, np.int32)]
        (tensor,) = tf.run_op("GatherV2", taken, _GATHER_ATTRIBUTES, 1)
        texts = tf.array_of(tensor).reshape(-1)
    else:
        texts = tf.array_of(tensor).reshape(-1)[places]
    for place, text in zip(places, texts, strict=True):
        yield int(place) // max(1, size // max(1, rows)), _as_bytes(text)


def _numbers(values: Any, dtype: Any) -> Any:
    return tf.as_tensor(np.asarray(values, dtype))


def _sampled_positions(size: int, most: int) -> Any:
    """Return evenly spaced positions in a shuffled order."""
    count = min(size, max(most, 0))
    return np.random.default_rng(0).permutation(np.arange(count) * size // max(count, 1))


def _as_bytes(text: Any) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else bytes(text)
