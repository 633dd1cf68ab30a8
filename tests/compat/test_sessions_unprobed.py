"""A session whose graph is one call of a function, which has no probes: what is fetched is looked at."""

from __future__ import annotations

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
