"""Runs functions whose ops TensorFlow fuses, recorded, and prints what their rows say beside what each op computes.

A program of its own, for whether TensorFlow uses oneDNN (TF_ENABLE_ONEDNN_OPTS) is decided once in a process.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tests.compat.looking import in_graph

import tensorsleuth

_random = np.random.default_rng(0)
CALLS = 2  # if TensorFlow's graph optimizer failed in the first call, the second is watched differently


def array(*shape: int) -> Any:
    return tf.constant(_random.normal(size=shape).astype(np.float32))


X, WEIGHT, BIAS = array(8, 16), array(16, 16), array(16)
IMAGE, FILTER, OFFSET = array(2, 12, 12, 4), array(3, 3, 4, 8), array(8)
QUERY, KEY, VALUE, MASK = array(2, 2, 6, 8), array(2, 2, 6, 8), array(2, 2, 6, 8), array(2, 1, 1, 6)


def dense() -> Any:
    return tf.nn.bias_add(tf.matmul(X, WEIGHT), BIAS)


def conv(image: Any = IMAGE, padding: str = "SAME") -> Any:
    return tf.nn.bias_add(tf.nn.conv2d(image, FILTER, 1, padding), OFFSET)


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "dense, relu": lambda: tf.nn.relu(dense()) * 2.0,
    "dense, tanh": lambda: tf.tanh(dense()) * 2.0,
    "dense, gelu": lambda: tf.nn.gelu(dense()) * 2.0,
    "dense, approximate gelu": lambda: tf.nn.gelu(dense(), approximate=True) * 2.0,
    "dense, residual, relu": lambda: tf.nn.relu(dense() + X) * 2.0,
    "conv, relu": lambda: tf.nn.relu(conv()) * 2.0,
    "pad, conv, relu": lambda: tf.nn.relu(conv(tf.pad(IMAGE, [[0, 0], [1, 1], [1, 1], [0, 0]]), "VALID")) * 2.0,
    "conv1d, relu": lambda: tf.nn.relu(tf.nn.bias_add(tf.nn.conv1d(IMAGE[0], FILTER[0], 1, "SAME"), OFFSET)) * 2.0,
    "attention": lambda: tf.matmul(tf.nn.softmax(tf.matmul(QUERY, KEY, transpose_b=True) * 0.35 + MASK), VALUE) * 2.0,
}


def recorded(function: Callable[[], Any]) -> dict[str, Any]:
    graph_function = tf.function(function)
    bare = graph_function().numpy().tobytes()
    with tempfile.TemporaryDirectory() as folder:
        with tensorsleuth.record(folder) as recording:
            watched = [graph_function().numpy().tobytes() for _ in range(CALLS)]
        assert recording.path is not None
        trace = tensorsleuth.open(recording.path)
        rows = {look.tensor.name: _range(look.row["min"], look.row["max"]) for look in in_graph(trace)}
    computed = _computed(function, list(rows))
    wrong = {
        name: [rows[name], computed[name]] for name in rows if not np.allclose(rows[name], computed[name], 1e-2, 1e-3)
    }
    same = watched == [bare] * CALLS
    return {"same": same, "seen": list(rows), "wrong": wrong, "not covered": [one["why"] for one in trace.not_covered]}


def _computed(function: Callable[[], Any], names: list[str]) -> dict[str, list[float]]:
    """What the ops of these names compute if nothing is fused."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    wrapped = tf.compat.v1.wrap_function(function, [])
    values = wrapped.prune([], [wrapped.graph.get_operation_by_name(name).outputs[0] for name in names])()
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
    return {name: _range(np.min(value), np.max(value)) for name, value in zip(names, values)}


def _range(least: Any, most: Any) -> list[float]:
    return [float(least), float(most)]


if __name__ == "__main__":
    print(json.dumps({name: recorded(function) for name, function in FUNCTIONS.items()}))
