"""A program that is watched, and what a trace has of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth.core.layout.histogram_bins import bin_edges
from tensorsleuth.native.numpy_measure import histogram
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.series.watched import WatchedSeries

X = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)


class Program:
    """A little training program that writes down what it computed."""

    def __init__(self) -> None:
        self.weights = tf.Variable(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), name="encoder/dense/kernel")
        self.values: list[Any] = [self.weights.numpy()]
        self.gradients: list[Any] = []
        self.products: list[Any] = []

    def step(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            with tf.name_scope("encoder"):
                y = tf.matmul(x, self.weights)
            loss = tf.reduce_sum(y * y)
        gradient = tape.gradient(loss, self.weights)
        self.weights.assign_sub(0.001 * gradient)
        return y, gradient

    def eager(self, steps: int) -> None:
        for _ in range(steps):
            self._note(*self.step(tf.constant(X)))

    def function(self, steps: int, **options: Any) -> None:
        step = tf.function(self.step, **options)
        for _ in range(steps):
            self._note(*step(tf.constant(X)))

    def compiled(self, steps: int) -> None:
        self.function(steps, jit_compile=True)

    def _note(self, y: Any, gradient: Any) -> None:
        self.values.append(self.weights.numpy())
        self.products.append(y.numpy())
        self.gradients.append(gradient.numpy())


WAYS = ("eager", "function", "compiled")


@pytest.fixture
def watched(tmp_path: Path) -> Callable[..., Trace]:
    """Runs something under a light recording while it is watched, and returns the trace."""

    def run(action: Callable[[], Any], tensors: Any, mode: str = "CURT_HEALTH", **asked: Any) -> Trace:
        with tensorsleuth.record(tmp_path / "runs", mode=mode) as recording, tensorsleuth.watch(tensors, **asked):
            action()
            recording.close()
        assert recording.path is not None
        trace = tensorsleuth.open(recording.path)
        assert trace.trouble == []
        return trace

    return run


def only(trace: Trace, *which: str) -> WatchedSeries:
    found = trace.watched(*which)
    assert len(found) == 1, found
    return found[0]


def agree(series: WatchedSeries, arrays: list[Any], rtol: float = 1e-12) -> None:
    """The numbers of each look are those of the array."""
    wide = [np.asarray(array, np.float64) for array in arrays]
    assert len(series) == len(arrays)
    np.testing.assert_allclose(series.norm, [np.linalg.norm(array) for array in wide], rtol=rtol)
    np.testing.assert_allclose(series.mean, [array.mean() for array in wide], rtol=1e-6, atol=1e-9)
    for number, array in enumerate(wide):
        assert series.rows["min"][number] == array.min() and series.rows["max"][number] == array.max()
        assert series.histogram[number].tolist() == histogram(array.reshape(-1)).tolist()
        assert series.edges[number].tolist() == bin_edges(array.min(), array.max()).tolist()
