"""Verdicts on placeholders that a run of a session needs and does not feed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Dying = Callable[[Callable[[], Any]], Finding]
Recorded = Callable[..., Trace]
v1 = tf.compat.v1
X = np.ones([4, 3], np.float32)


def test_a_rate_that_the_evaluation_lacks(dying: Dying) -> None:
    def program() -> None:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 3])
            keep_rate = v1.placeholder(tf.float32)  # rate
            y = tf.reduce_sum(x * keep_rate)
            for _ in range(3):
                session.run(y, {x: X, keep_rate: 0.5})
            session.run(y, {x: X})  # evaluation

    found = dying(program)
    assert found.line == marked("evaluation"), found.summary
    assert f"does not feed keep_rate, the placeholder of {__file__}:{marked('rate')}" in found.summary
    assert "add keep_rate to the feed_dict" in str(found.fix)


def test_an_attribute_of_a_model(dying: Dying) -> None:
    class Model:
        def __init__(self) -> None:
            self.images = v1.placeholder(
                tf.float32,
                [None, 3],
            )
            self.loss = tf.reduce_sum(self.images)

    def program() -> None:
        with tf.Graph().as_default(), v1.Session() as session:
            model = Model()
            session.run(model.loss)  # run

    found = dying(program)
    assert found.line == marked("run") and "does not feed self.images" in found.summary, found.summary


def test_a_placeholder_without_a_name_of_its_own(dying: Dying) -> None:
    def program() -> None:
        with tf.Graph().as_default(), v1.Session() as session:
            inputs = [v1.placeholder(tf.float32, [], name=name) for name in ("left", "right")]
            session.run(inputs[0] + inputs[1], {inputs[0]: 1.0})  # sum

    found = dying(program)
    assert found.line == marked("sum") and "does not feed 'right'" in found.summary, found.summary


def test_what_needs_no_placeholder_is_healthy(recorded: Recorded) -> None:
    def program() -> None:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 3])
            rate = v1.placeholder_with_default(1.0, [])
            session.run(tf.reduce_sum(x) * rate, {x: X})

    assert not tensorsleuth.diagnose(recorded(program)).findings
