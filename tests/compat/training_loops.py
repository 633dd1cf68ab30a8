"""One small model, trained in each kind of loop: op by op, in a function, in a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
X = np.random.default_rng(5).normal(size=(64, 8)).astype("float32")
Y = (X @ np.random.default_rng(6).normal(size=(8, 1))).astype("float32")

Step = Callable[[list[Any], list[Any]], list[Any]]


def batches(steps: int, size: int = 16) -> Iterator[Any]:
    generator = np.random.default_rng(2)
    for _ in range(steps):
        yield generator.choice(len(X), size, replace=False)


def drawn(*shape: int, scale: float = 0.3) -> Callable[[], Any]:
    return lambda: tf.random.normal(shape, seed=7) * scale


def filled(value: float, *shape: int) -> Callable[[], Any]:
    return lambda: tf.fill(shape, value)


def two_layers(weights: list[Any], x: Any, activation: Any = tf.nn.relu) -> Any:
    return activation(x @ weights[0] + weights[1]) @ weights[2] + weights[3]


def squares(weights: list[Any], x: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.square(two_layers(weights, x) - y))


def descend(rate: float) -> Step:
    """Plain gradient descent, written by hand."""

    def step(weights: list[Any], gradients: list[Any]) -> list[Any]:
        return [one.assign_sub(rate * gradient) for one, gradient in zip(weights, gradients, strict=True)]

    return step


def leave(weights: list[Any], gradients: list[Any]) -> list[Any]:
    """Do nothing with them; a session has to fetch something."""
    return gradients


@dataclass
class Training:
    """A program that trains two layers in a loop; `make` gives the first values of their weights."""

    loss: Callable[[list[Any], Any, Any], Any] = squares
    update: Step = field(default_factory=lambda: descend(0.05))
    steps: int = 24
    make: tuple[Callable[[], Any], ...] = (drawn(8, 16), filled(0.0, 16), drawn(16, 1), filled(0.0, 1))

    def eager(self) -> None:
        weights = [tf.Variable(make()) for make in self.make]
        for at in batches(self.steps):
            self._step(weights, X[at], Y[at])

    def function(self) -> None:
        weights = [tf.Variable(make()) for make in self.make]
        step = tf.function(lambda x, y: self._step(weights, x, y))
        for at in batches(self.steps):
            step(tf.constant(X[at]), tf.constant(Y[at]))

    def session(self) -> None:
        with tf.Graph().as_default(), v1.Session() as session:
            x, y = v1.placeholder(tf.float32, [None, 8]), v1.placeholder(tf.float32, [None, 1])
            weights = [v1.Variable(make()) for make in self.make]
            loss = self.loss(weights, x, y)
            updates = self.update(weights, tf.gradients(loss, weights))  # session gradients
            session.run(v1.global_variables_initializer())
            for at in batches(self.steps):
                session.run([loss, *updates], {x: X[at], y: Y[at]})

    def _step(self, weights: list[Any], x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = self.loss(weights, x, y)
        self.update(weights, tape.gradient(loss, weights))  # gradients
        return loss


KINDS = {"eager": Training.eager, "function": Training.function, "session": Training.session}
