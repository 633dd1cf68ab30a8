"""Programs that break points are set in, and what was hit in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.live.breakpoints.hit import Hit

HERE = os.path.basename(__file__)
X = tf.constant([[1.0, 2.0], [10.0, 20.0]])


def nothing(hit: Hit) -> None:
    """What to do where it only matters that it was hit."""


def hits_of(action: Callable[[], Any], condition: Any, **settings: Any) -> list[Hit]:
    with tensorsleuth.break_when(condition, then=settings.pop("then", nothing), **settings) as point:
        action()
    return point.hits


def only(hits: list[Hit]) -> Hit:
    assert len(hits) == 1, hits
    return hits[0]


def at_line(hit: Hit, file: str = __file__) -> int | None:
    assert hit.op.file is not None and os.path.basename(hit.op.file) == os.path.basename(file)
    return hit.op.line


def line(mark: str) -> int:
    """Where one of these programs has a mark."""
    return marked(mark)


weights = tf.Variable([[1.0], [2.0]], name="weights")


@tf.function
def train(x: Any, rate: Any = 0.001) -> Any:
    with tf.GradientTape() as tape:
        with tf.name_scope("predict"):
            y = tf.matmul(x, weights)  # forward
        loss = tf.reduce_sum(y * y)
    weights.assign_sub(rate * tape.gradient(loss, weights))
    return loss


@tf.function
def grow(x: Any, times: Any) -> Any:
    for _ in tf.range(times):
        x = x * 2.0  # grown
    return tf.reduce_sum(x)


@tf.function
def logarithm(x: Any) -> Any:
    logs = tf.math.log(x)  # log
    return tf.reduce_sum(logs * 2.0)


def train_anew(steps: int = 3) -> None:
    weights.assign([[1.0], [2.0]])
    for _ in range(steps):
        train(X)
