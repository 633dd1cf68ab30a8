"""Growth until something overflows: whose update it was, since when, and the line that set the rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.recording.tensorflow import internals as private_tf
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
READS_IN_PYTHON = private_tf.version() >= (2, 16)  # else eager ops read variables by themselves, without rows

X = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
Y = X.sum(1, keepdims=True)


def first(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


def weights() -> Any:
    return tf.Variable(np.linspace(-1.0, 1.0, 4, dtype=np.float32)[:, None])


def gradient(weight: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(X, weight) - Y) ** 2)
    return tape.gradient(loss, weight)


def train_another_model() -> None:
    healthy, weight = keras.optimizers.Adam(1e-3), weights()
    for _ in range(3):
        healthy.apply_gradients([(gradient(weight), weight)])


def test_the_optimizer_that_wrote_the_weights_is_blamed(recorded: Recorded) -> None:
    def program() -> None:
        train_another_model()
        weight, optimizer = weights(), keras.optimizers.SGD(50.0)  # too fast
        for _ in range(20):
            optimizer.apply_gradients([(gradient(weight), weight)])

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("too fast"))
    assert "a step from step " in found.summary
    if READS_IN_PYTHON:
        assert "learning rate 50)" in found.summary and "from step 3 on" in found.summary


def test_no_optimizer_is_blamed_for_an_update_by_hand(recorded: Recorded) -> None:
    def program() -> None:
        train_another_model()
        weight = weights()
        for _ in range(20):
            weight.assign_sub(50.0 * gradient(weight))  # by hand

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("by hand"))
    assert "0.001" not in found.summary


def test_a_learning_rate_that_jumps_is_blamed_where_it_was_set(recorded: Recorded) -> None:
    def program() -> None:
        optimizer, weight = keras.optimizers.SGD(0.01), weights()
        optimizer.build([weight])
        step = tf.function(lambda: optimizer.apply_gradients([(gradient(weight), weight)]))
        for number in range(40):
            if number == 5:
                optimizer.learning_rate.assign(100.0)  # jump
            step()

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("jump"))
    assert "from 0.01 to 100 at step 5" in found.summary


def softmax_by_temperature(temperature: Any, weight: Any) -> Any:
    def step() -> Any:
        with tf.GradientTape() as tape:
            scores = tf.exp(tf.matmul(X, weight) / temperature)
            loss = tf.reduce_mean(scores)
        weight.assign_sub(1e-3 * tape.gradient(loss, weight))
        return loss

    return tf.function(step)


def test_a_temperature_that_jumps_is_blamed_where_it_was_set(recorded: Recorded) -> None:
    temperature = tf.Variable(1.0, trainable=False, name="temperature")
    step = softmax_by_temperature(temperature, weights())

    def program() -> None:
        for number in range(6):
            if number == 3:
                temperature.assign(0.005)  # cold
            step()

    found = first(recorded(program))
    assert (found.line, found.step) == (marked("cold"), 3)
    assert "temperature from 1 to 0.005" in found.summary and "exp" in found.summary


def test_a_temperature_that_jumps_and_harms_nothing_is_not_told(recorded: Recorded) -> None:
    temperature = tf.Variable(1.0, trainable=False, name="temperature")
    step = softmax_by_temperature(temperature, weights())

    def program() -> None:
        for number in range(6):
            if number == 3:
                temperature.assign(50.0)
            step()

    assert not tensorsleuth.diagnose(recorded(program)).findings


def error_gradient(weight: Any) -> Any:
    return tf.matmul(X, tf.matmul(X, weight) - Y, transpose_a=True) / 32.0


def test_updates_without_a_tape_grow_from_call_to_call(recorded: Recorded) -> None:
    weight = weights()

    def program() -> None:
        for _ in range(60):
            weight.assign_sub(20.0 * error_gradient(weight))  # no tape

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("no tape"))
    assert "× a call from call " in found.summary and "at step" not in found.summary


def test_a_variable_that_is_set_to_larger_and_larger_values(recorded: Recorded) -> None:
    weight = weights()

    def program() -> None:
        for _ in range(60):
            weight.assign(weight - 20.0 * error_gradient(weight))  # set anew

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("set anew")), found.summary


def test_the_layer_that_grows_is_blamed_and_not_one_that_is_trained_beside_it(recorded: Recorded) -> None:
    weight, calm = weights(), weights()

    def program() -> None:
        for _ in range(60):
            calm.assign_sub(0.01 * error_gradient(calm))
            weight.assign_sub(20.0 * error_gradient(weight))  # the one that grows

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("the one that grows")), found.summary


@pytest.mark.parametrize("rate", [0.1, 0.01])
def test_an_eager_loop_that_converges_is_healthy(recorded: Recorded, rate: float) -> None:
    weight, optimizer = weights(), keras.optimizers.SGD(rate, momentum=0.5)

    def program() -> None:
        for _ in range(40):
            optimizer.apply_gradients([(gradient(weight), weight)])

    assert not tensorsleuth.diagnose(recorded(program)).findings


def test_a_loop_without_variables_grows_from_call_to_call(recorded: Recorded) -> None:
    def program() -> None:
        state = tf.constant(weights().numpy())
        for _ in range(60):
            state = state - 20.0 * error_gradient(state)

    found = first(recorded(program))
    assert found.cause == "exploding-recurrence" and "each time" in found.summary


def test_updates_without_a_tape_that_converge_are_healthy(recorded: Recorded) -> None:
    weight = weights()

    def program() -> None:
        for _ in range(60):
            weight.assign_sub(0.1 * error_gradient(weight))

    assert not tensorsleuth.diagnose(recorded(program)).findings


def test_no_rate_is_to_be_lowered_ten_million_times(recorded: Recorded) -> None:
    weight, optimizer = weights(), keras.optimizers.SGD(0.5)

    def program() -> None:
        for _ in range(8):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.matmul(X * 25_500.0, weight) - Y) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])

    found = first(recorded(program))
    assert found.cause == "learning-rate" and found.fix is not None
    assert "000×" not in found.fix and "scale what goes in" in found.fix
