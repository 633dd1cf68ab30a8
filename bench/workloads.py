"""What a worker repeats: each sets up once and returns a round, which may return timings of its own."""

from __future__ import annotations

import time
from collections.abc import Callable

import tensorflow as tf

from bench.models import Transformer, cnn, dense

Round = Callable[[], dict[str, float]]


def transformer(steps: int) -> Round:
    """Training steps of a function traced beforehand."""
    return _repeat(Transformer().step, steps)


def compiled_transformer(steps: int) -> Round:
    """The same, compiled by XLA."""
    return _repeat(tf.function(Transformer().one_step, jit_compile=True), steps)


def narrow(steps: int) -> Round:
    """The same function op for op on small tensors: for its events, not for its time."""
    return _repeat(Transformer(width=32, sequence=16, batch=2).step, steps)


def tracing(steps: int) -> Round:
    """The same function traced anew and run once; the tracing alone as well."""
    model = Transformer()

    def once() -> dict[str, float]:
        start = time.perf_counter()
        step = tf.function(model.one_step).get_concrete_function()
        traced = time.perf_counter()
        step().numpy()
        return {"trace": traced - start}

    return once


def eager(steps: int) -> Round:
    """A loop of small ops with no function around them."""
    x, w = tf.random.stateless_normal([16, 16], [1, 2]), tf.random.stateless_normal([16, 16], [3, 4]) / 8.0

    def loop() -> tf.Tensor:
        y = x
        for _ in range(50):
            y = tf.nn.relu(tf.add(tf.matmul(y, w), x))
            y = tf.multiply(y, 0.5)
            total = tf.reduce_sum(y)
        return total

    return _repeat(loop, steps)


def keras_cnn(steps: int) -> Round:
    """One `fit` over that many batches of 32."""
    return _repeat(cnn(samples=32 * steps).epoch, 1)


def keras_mlp(steps: int) -> Round:
    """The same for a small model, with the progress bar that people leave on."""
    model = dense(samples=32 * steps)
    return _repeat(lambda: model.epoch(verbose=1), 1)


def _repeat(step: Callable[[], tf.Tensor | None], steps: int) -> Round:
    def run() -> dict[str, float]:
        for _ in range(steps):
            result = step()
        if result is not None:
            result.numpy()  # the round ends when its values are available
        return {}

    return run


WORKLOADS = {
    "transformer": transformer,
    "compiled-transformer": compiled_transformer,
    "narrow": narrow,
    "tracing": tracing,
    "eager": eager,
    "keras-cnn": keras_cnn,
    "keras-mlp": keras_mlp,
}
