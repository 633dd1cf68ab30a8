"""The guard raises where a bad value begins to matter, names the line that made it, and leaves the rest alone."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import guarded
from tests.compat.guarded import X, alarm, fused_batch_norm
from tests.compat.looking import marked

from tensorsleuth.core.errors import NumericsError

pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")

guard = guarded.guard  # a fixture


def masked_log(x: Any) -> Any:
    return tf.reduce_sum(tf.where(x > 0, tf.math.log(x), 0.0))  # trap


masked_log_function = tf.function(masked_log)


# ---- what raises


@tf.function
def log_loss(x: Any) -> Any:
    logs = tf.math.log(x + 0.0)  # log in a function
    return -tf.reduce_sum(logs)


@pytest.mark.usefixtures("guard")
def test_an_output_of_a_function() -> None:
    assert log_loss(tf.ones([2])).numpy() == 0.0
    for _ in range(2):  # after it is caught, the program continues, and the guard raises again
        error = alarm(lambda: log_loss(X), marked("log in a function"), "log_loss")
        assert "log(0)" in str(error).splitlines()[0]
    assert log_loss(tf.ones([2])).numpy() == 0.0


@tf.function(jit_compile=True)
def compiled_loss(x: Any, weight: Any) -> Any:
    logs = tf.math.log(x * weight)  # log in what is compiled
    return -tf.reduce_sum(logs)


@pytest.mark.usefixtures("guard")
def test_what_xla_compiles() -> None:
    assert compiled_loss(tf.ones([3]), tf.ones([3])).numpy() == 0.0
    error = alarm(lambda: compiled_loss(X, tf.ones([3])), marked("log in what is compiled"), "compiled_loss")
    assert "replayed without XLA" in " ".join(str(error).split())
    masked = tf.function(masked_log, jit_compile=True)
    assert masked(tf.constant([0.0, 1.0])).numpy() == 0.0


@pytest.mark.usefixtures("guard")
def test_the_traceback_is_the_users_own() -> None:
    with pytest.raises(NumericsError) as raised:
        log_loss(X)
    files = [frame.filename for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert not [file for file in files if f"{os.sep}tensorsleuth{os.sep}" in file]


@pytest.mark.usefixtures("guard")
def test_a_loss_a_variable_and_a_number_of_python() -> None:
    variable = tf.Variable([1.0, 2.0])

    def differentiate() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.math.log(variable - 1.0))  # loss
        tape.gradient(loss, variable)

    alarm(differentiate, marked("loss"), "loss")
    alarm(
        lambda: variable.assign(variable / tf.constant([0.0, 1.0])),  # assigned
        marked("assigned"),
        "AssignVariableOp",
    )
    assert variable.numpy().tolist() == [1.0, 2.0]  # it was not written
    bad = tf.math.log(variable - 1.0)  # read
    for read in (bad.numpy, lambda: float(bad[0]), lambda: print(bad)):
        alarm(read, marked("read"), "Python")


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # np.array, as it is refused
@pytest.mark.parametrize("size", [3, 5000])  # small ones are always looked at
def test_what_numpy_reads_from_memory(guard: Any, size: int) -> None:
    bad = tf.math.log(tf.fill([size], np.float32(-1.0)))  # of less than 0
    for read in (np.asarray, memoryview, np.array, np.mean, lambda one: np.asarray(one[:2])):
        alarm(lambda read=read: read(bad), marked("of less than 0"), "Python")  # type: ignore[misc]
    good, mask = tf.math.log(tf.ones([size])), tf.fill([size], np.float32(-np.inf))
    assert np.asarray(good).sum() == 0 and memoryview(good).shape == (size,)
    assert np.isinf(np.asarray(mask)).all()  # the program wrote it
    assert np.asarray(tf.where(tf.math.is_nan(bad), good, bad)).sum() == 0
    guard.close()
    assert np.isnan(np.asarray(bad)).all() and np.isnan(memoryview(bad)[0])


@pytest.mark.usefixtures("guard")
@pytest.mark.parametrize("change", [lambda x: x * 1.0, lambda x: tf.reshape(x / 1.0, [2]) + 0.0, lambda x: 0.0 - -x])
def test_a_write_of_what_the_graph_optimizer_removes(change: Any) -> None:
    variable = tf.Variable([4.0, 2.0])

    @tf.function
    def step(x: Any) -> None:
        variable.assign(change(tf.math.log(x)))  # removed
        beyond = tf.math.log(x - 9.0)
        tf.cond(x[0] > 9.0, lambda: variable.assign(change(beyond)), lambda: variable)  # not yet
        variable.assign(change(tf.where(x > 0.0, tf.math.log(x + 0.5), 0.0)))

    step(tf.constant([1.0, 2.0]))
    alarm(lambda: step(tf.constant([-1.0, 2.0])), marked("removed"), "variable")


@pytest.mark.usefixtures("guard")
def test_a_gradient_that_is_applied() -> None:
    variable = tf.Variable([0.0, 1.0])

    def gradient(function: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = function(variable + 0.0)
        return tape.gradient(loss, variable)

    for function in (masked_log, masked_log_function):
        computed = gradient(function)  # nothing has happened yet
        alarm(partial(variable.assign_sub, 0.1 * computed), marked("trap"), "AssignSubVariableOp")
    step = tf.function(lambda: variable.assign_sub(gradient(masked_log)))
    assert variable.numpy().tolist() == [0.0, 1.0]
    alarm(step, marked("trap"), "variable")


@pytest.mark.usefixtures("guard")
def test_loops_data_and_threads() -> None:
    @tf.function
    def grow(x: Any) -> Any:
        for _ in tf.range(6):
            x = x * 1e10  # overflow
        return x

    line = marked("overflow")
    alarm(lambda: grow(tf.ones([])), line, "grow")
    logs = tf.data.Dataset.from_tensors(X).map(lambda x: tf.math.log(x) * 2.0 + 1.0)  # data
    variable = tf.Variable(tf.zeros([3]))
    alarm(lambda: variable.assign_add(next(iter(logs))), marked("data"), "AssignAddVariableOp")
    errors: list[Any] = []

    def work() -> None:
        try:
            grow(tf.ones([]))
        except NumericsError as error:
            errors.append(error.findings[0].line)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [line] * 4


def broken_loss(labels: Any, predicted: Any) -> Any:
    return tf.reduce_mean(labels * tf.math.log(predicted * 0.0))  # keras


@pytest.mark.usefixtures("guard")
def test_keras_fit_and_a_train_step_of_ones_own() -> None:
    class Own(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.layer = tf.keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.layer(x)

        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = broken_loss(y, self(x))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
            return {"loss": loss}

    x, y = np.ones([8, 2], np.float32), np.ones([8, 1], np.float32)
    for model in (tf.keras.Sequential([tf.keras.layers.Dense(1)]), Own()):
        model.compile("sgd", broken_loss)
        alarm(partial(model.fit, x, y, verbose=0), marked("keras"), "")


# ---- what does not


LARGE_MASK = np.where(np.tri(40) > 0, 0.0, -np.inf).astype(np.float32)
MASK = tf.constant(np.where(np.tri(4) > 0, 0.0, -np.inf), tf.float32)
SCORES = tf.ones([4, 4])
HEALTHY: dict[str, Callable[[], Any]] = {
    "where": lambda: masked_log(X),
    "where in a function": lambda: masked_log_function(X),
    "maximum": lambda: tf.maximum(tf.math.log(X), -10.0),
    "nan_to_num": lambda: tf.where(tf.math.is_finite(X / X), X / X, 0.0),
    "divide_no_nan": lambda: tf.math.divide_no_nan(X, X),
    "attention mask": lambda: tf.nn.softmax(SCORES + MASK),
    "attention mask in a function": lambda: tf.function(lambda s, m: tf.nn.softmax(s + m))(SCORES, MASK),
    "masked scores": lambda: tf.function(lambda s: s + tf.where(tf.eye(4) > 0, -np.inf, 0.0))(SCORES) + 1.0,
    "masked scores, large": lambda: tf.function(lambda s: s + LARGE_MASK)(tf.ones([40, 40])),
    "literal": lambda: [tf.fill([2], -np.inf) + 1.0, tf.constant(np.inf) * 2.0],
    "empty batch norm": lambda: fused_batch_norm(tf.zeros([0, 2, 2, 3])),
    "empty batch norm in a function": lambda: tf.function(fused_batch_norm)(tf.zeros([0, 2, 2, 3])),
}


@pytest.mark.usefixtures("guard")
@pytest.mark.parametrize("name", HEALTHY)
def test_what_is_masked_or_written_down_is_no_alarm(name: str) -> None:
    for _ in range(3):
        for result in tf.nest.flatten(HEALTHY[name]()):
            result.numpy()
            tf.Variable(tf.zeros_like(result)).assign(result)


@pytest.mark.usefixtures("guard")
def test_a_running_minimum_begins_at_infinity() -> None:
    best = tf.Variable(np.inf)
    for value in (np.inf, 3.0):
        best.assign(tf.minimum(best, value))
        float(best)


@pytest.mark.usefixtures("guard")
def test_steps_that_a_loss_scale_skips() -> None:
    weight = tf.Variable(1.0)

    @tf.function
    def by_hand(scale: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = weight * weight * scale
        gradient = tape.gradient(loss, weight)
        tf.cond(tf.math.is_finite(gradient), lambda: weight.assign(gradient), lambda: weight)
        return weight * 1.0

    assert [float(by_hand(tf.constant(3e38))) for _ in range(3)] == [1.0] * 3
    inner = tf.keras.optimizers.SGD(0.1)
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(inner)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.cast(weight, tf.float16) * 300.0
            scaled = loss * 60000.0
        gradients = tape.gradient(scaled, [weight])
        optimizer.apply_gradients(zip(gradients, [weight]))

    for run in (tf.function(step),):
        run()
    assert float(weight) == 1.0
