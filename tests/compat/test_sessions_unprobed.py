"""A session whose graph is one call of a function, which has no probes: what is fetched is looked at."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.sessions import Recorded, session, v1

import tensorsleuth


def fetch(numbers: list[float]) -> None:
    with session() as sess:
        x = v1.placeholder(tf.float32, [None])
        total = tf.function(lambda x: tf.reduce_sum(tf.math.log(x)))(x)
        for _ in range(3):
            sess.run(total, {x: numbers})


def test_a_bad_number_that_is_fetched_is_a_problem(recorded: Recorded) -> None:
    diagnosis = tensorsleuth.diagnose(recorded(lambda: fetch([1.0, 0.0])))
    assert diagnosis.findings, "the program got −∞ three times"
    assert (diagnosis.findings[0].file, diagnosis.findings[0].op) == (__file__, "Session.run")


def test_a_finite_one_is_none(recorded: Recorded) -> None:
    assert not tensorsleuth.diagnose(recorded(lambda: fetch([1.0, 2.0]))).findings


@pytest.mark.parametrize("maker", ["make_one_shot_iterator", "make_initializable_iterator"])
def test_a_nan_of_a_dataset_function_is_not_surely_in_the_data(recorded: Recorded, maker: str) -> None:
    """The function that makes it runs where nothing is recorded."""
    with tf.Graph().as_default():
        rows = tf.compat.v1.data.Dataset.from_tensor_slices(np.ones(4, "float32"))
        iterator = getattr(tf.compat.v1.data, maker)(rows.map(lambda x: tf.math.log(x - 3.0)).batch(2))
        loss = tf.reduce_mean(iterator.get_next())

        def program() -> None:
            with tf.compat.v1.Session() as session:
                if maker == "make_initializable_iterator":
                    session.run(iterator.initializer)
                session.run(loss)

        finding = tensorsleuth.diagnose(recorded(program)).findings[0]
    assert finding.cause != "nan-in-data" or finding.confidence < 0.7, (finding.op, finding.summary)
