"""Verdicts on dtypes that do not fit together: which tensors met, where each was made, and what to cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Dying = Callable[[Callable[[], Any]], Finding]
Run = Callable[..., Any]

WAYS: dict[str, Callable[[Run], Run]] = {"eager": lambda run: run, "function": tf.function}


@pytest.mark.parametrize("way", WAYS)
def test_integer_labels_that_meet_floats(dying: Dying, way: str) -> None:
    def program() -> None:
        labels = tf.constant([1, 0, 1])  # labels

        def loss(x: Any) -> Any:
            scores = tf.sigmoid(x * 2.0)  # scores
            return tf.reduce_mean(labels * scores)  # product

        WAYS[way](loss)(tf.ones([3]))

    found = dying(program)
    assert (found.cause, found.line) == ("dtype-mismatch", marked("product")), found.summary
    assert "Mul got" in found.summary and "int32 [3]" in found.summary and "float32 [3]" in found.summary
    assert f"{__file__}:{marked('scores')}" in found.summary and found.confidence >= 0.9
    assert f"`labels` int32 [3] of {__file__}:{marked('labels')}" in found.summary
    assert "tf.cast(labels, tf.float32)" in str(found.fix)


def test_integers_of_a_dataset(dying: Dying) -> None:
    def program() -> None:
        data = tf.data.Dataset.from_tensor_slices((np.ones([4, 2], np.float32), np.array([0, 1, 1, 0]))).batch(2)
        for x, y in data:  # taken
            tf.square(tf.reduce_sum(x, 1) - tf.cast(y, tf.int32))

    found = dying(program)
    assert found.cause == "dtype-mismatch" and "Sub got" in found.summary and "tf.cast(" in str(found.fix)


@pytest.mark.parametrize("way", WAYS)
def test_an_op_that_takes_no_integers(dying: Dying, way: str) -> None:
    def program() -> None:
        counts = tf.constant([1, 2, 3])  # counts
        WAYS[way](lambda: tf.math.log(counts))()  # log

    found = dying(program)
    assert (found.cause, found.line) == ("dtype-mismatch", marked("log")), found.summary
    assert "int32 [3]" in found.summary and "takes floats only" in found.summary
    assert f"{__file__}:{marked('counts')}" in found.summary and "tf.cast(counts, tf.float32)" in str(found.fix)


@pytest.mark.parametrize("way", WAYS)
def test_ids_that_are_floats(dying: Dying, way: str) -> None:
    ids = tf.ones([3]) * 2.0
    found = dying(lambda: WAYS[way](lambda: tf.one_hot(ids, 4))())
    assert found.cause == "dtype-mismatch" and "tf.int32" in str(found.fix), found.summary


def test_doubles_of_numpy(dying: Dying) -> None:
    def program() -> None:
        weights = tf.constant(np.ones([3]))  # weights
        tf.concat([tf.ones([3]) * 2.0, weights], 0)  # join

    found = dying(program)
    assert (found.cause, found.line) == ("dtype-mismatch", marked("join")), found.summary
    assert "float64" in found.summary and "tf.cast(weights, tf.float32)" in str(found.fix)


def test_a_graph_of_tensorflow_1(dying: Dying) -> None:
    def program() -> None:
        v1 = tf.compat.v1
        with tf.Graph().as_default():
            labels = v1.placeholder(tf.int64, [None])  # fed labels
            labels - v1.get_variable("scores", [1]) * 2.0  # difference

    found = dying(program)
    assert (found.cause, found.line) == ("dtype-mismatch", marked("difference")), found.summary
    assert f"{__file__}:{marked('fed labels')}" in found.summary and "tf.cast(labels, tf.float32)" in str(found.fix)


FED: dict[str, tuple[Any, str]] = {
    "wide": (np.ones([2, 3]), "give it the shape [?, 4]"),
    "turned": (np.ones([4, 7]), "array.T"),
    "sample": (np.ones([4]), "array[None]"),
}


@pytest.mark.parametrize("name", FED)
def test_a_placeholder_that_is_fed_a_wrong_shape(dying: Dying, name: str) -> None:
    array, advice = FED[name]

    def program() -> None:
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 4], name="x")  # x
            session.run(x * 2.0, {x: array})  # run

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("run")), found.summary
    assert f"the placeholder x [?, 4] of {__file__}:{marked('x')}" in found.summary, found.summary
    assert str([*array.shape]) in found.summary and advice in str(found.fix) and found.confidence >= 0.9


def test_a_placeholder_that_is_not_fed(dying: Dying) -> None:
    def program() -> None:
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 4], name="x")
            session.run(x * 2.0)  # not fed

    found = dying(program)
    assert found.cause == "tensorflow-error" and found.line == marked("not fed"), found.summary
    assert "feed_dict" in str(found.fix)


def test_casts_are_healthy(recorded: Recorded) -> None:
    def program() -> None:
        labels = tf.constant([1, 0, 1])
        tf.cast(labels, tf.float32) * tf.ones([3]) + 1.5

    assert not tensorsleuth.diagnose(recorded(program)).findings
