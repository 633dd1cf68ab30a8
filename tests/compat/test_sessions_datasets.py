"""Verdicts on bad values out of a dataset that a session runs: nothing inside its functions has rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.confidence import checked_problems
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
v1 = tf.compat.v1
VALUES = np.array([[1.0, 3.0], [2.0, 5.0], [0.0, 0.0], [1.0, 2.0]], np.float32)


def log(x: Any) -> Any:
    shifted = x / 4.0
    return tf.math.log(shifted)  # log


def scaled(x: Any) -> Any:
    return x / tf.reduce_max(x)  # scaled


def inner(x: Any) -> Any:
    return tf.cond(x[0] > -1.0, lambda: scaled(x), lambda: x)


def several(x: Any) -> Any:
    roots = tf.sqrt(x - 1.0)  # roots
    return tf.math.log(roots)  # log of roots


def doubled(x: Any) -> Any:
    return x * 2.0


def one_shot(dataset: Any, session: Any) -> Any:
    return v1.data.make_one_shot_iterator(dataset).get_next()


def initialized(dataset: Any, session: Any, feeds: Any = None) -> Any:
    iterator = v1.data.make_initializable_iterator(dataset)
    session.run(iterator.initializer, feeds)
    return iterator.get_next()


ITERATORS = {"one-shot": one_shot, "initialized": initialized}


def run(dataset: Callable[[], Any], iterator: Callable[..., Any]) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        y = tf.reduce_sum(iterator(dataset(), session) * 3.0)
        for _ in range(2):
            session.run(y)


def first(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


def slices(values: Any = VALUES) -> Any:
    return v1.data.Dataset.from_tensor_slices(values)


@pytest.mark.parametrize("iterator", ITERATORS)
@pytest.mark.parametrize(("function", "line"), [(log, "log"), (scaled, "scaled"), (inner, "scaled")])
def test_the_only_op_that_can_make_it_is_told(recorded: Recorded, iterator: str, function: Any, line: str) -> None:
    found = first(recorded(lambda: run(lambda: slices().map(function).batch(2), ITERATORS[iterator])))
    assert (found.cause, found.line) == ("nan-in-dataset-function", marked(line)), found.summary
    assert "most likely" in found.summary and "is finite" in found.summary and 0.7 <= found.confidence < 0.9


def test_a_map_behind_the_batches(recorded: Recorded) -> None:
    def dataset() -> Any:
        return slices().shuffle(4, seed=1).batch(2).map(doubled).map(log).prefetch(1)

    found = first(recorded(lambda: run(dataset, one_shot)))
    assert (found.cause, found.line) == ("nan-in-dataset-function", marked("log")), found.summary


def test_an_array_that_is_fed_when_the_iterator_is_made(recorded: Recorded) -> None:
    def program(values: Any, function: Any) -> None:
        with tf.Graph().as_default(), v1.Session() as session:
            given = v1.placeholder(tf.float32, [None, 2])
            x = initialized(slices(given).map(function), session, {given: values})
            session.run(x * 2.0)
            session.run(x * 2.0)

    zeros, bad = np.zeros([4, 2], np.float32), np.full([4, 2], np.nan, np.float32)
    found = first(recorded(lambda: program(zeros, scaled)))
    assert (found.cause, found.line) == ("nan-in-dataset-function", marked("scaled")), found.summary
    assert "is finite" in found.summary
    found = first(recorded(lambda: program(bad, scaled)))
    assert found.cause == "nan-in-data", found.summary


def test_two_ops_that_can_make_it_are_both_told_and_neither_is_blamed(recorded: Recorded) -> None:
    found = first(recorded(lambda: run(lambda: slices(VALUES[2:]).map(several).repeat().batch(2), one_shot)))
    assert found.cause in ("nan-in-data", "inf-in-data") and found.confidence < 0.7
    assert f"line {marked('roots')} and line {marked('log of roots')}" in found.summary


@pytest.mark.parametrize("function", [doubled, log])
def test_an_array_that_was_bad_before(recorded: Recorded, function: Any) -> None:
    values = VALUES.copy()
    values[1, 1] = np.nan
    found = first(recorded(lambda: run(lambda: slices(values).map(function).batch(2), one_shot)))
    assert found.cause == "nan-in-data" and found.confidence >= 0.9, found.summary


def test_finite_elements_are_healthy(recorded: Recorded) -> None:
    diagnosis = tensorsleuth.diagnose(recorded(lambda: run(lambda: slices(VALUES + 1.0).map(log), one_shot)))
    assert not diagnosis.findings
    assert checked_problems(diagnosis) == ("NaN, ∞ checked; sessions have no statistics of layers, gradients and masks")


def test_what_is_checked_of_eager_code_says_nothing_of_sessions(recorded: Recorded) -> None:
    diagnosis = tensorsleuth.diagnose(recorded(lambda: tf.ones([3]) * 2.0))
    assert checked_problems(diagnosis) == "NaN, ∞ checked"
