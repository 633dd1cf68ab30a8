"""The guard raises where a bad value begins to matter, names the line that made it, and leaves the rest alone."""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.kerases import KERASES, load
from tests.compat.looking import bits, marked

import tensorsleuth
from tensorsleuth.model.errors import NumericsError, SleuthError
from tensorsleuth.model.rows import EventFlag

pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")

X = tf.constant([0.0, 1.0, 2.0])
HERE = os.path.basename(__file__)


@pytest.fixture
def guard() -> Iterator[Any]:
    with tensorsleuth.guard() as on_duty:
        yield on_duty


@pytest.fixture
def strict() -> Iterator[Any]:
    with tensorsleuth.guard(strict=True) as on_duty:
        yield on_duty


def alarm(action: Callable[[], Any], line: int, got_to: str) -> NumericsError:
    """Runs what must raise, with the line as its first finding."""
    with pytest.raises(NumericsError) as raised:
        action()
    error = raised.value
    assert error.findings and (os.path.basename(str(error.findings[0].file)), error.findings[0].line) == (HERE, line)
    text = str(error)
    assert f"{HERE}:{line}" in text.splitlines()[0]
    assert "▶" in text and got_to in text.splitlines()[-1], text
    assert isinstance(error, tf.errors.InvalidArgumentError) and isinstance(error, ArithmeticError)
    return error


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
    for _ in range(2):  # who catches it may go on, and is told again
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
    assert "uncompiled" in str(error)
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


def fused_batch_norm(x: Any) -> Any:
    return tf.compat.v1.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]), is_training=True)[0]


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


# ---- strict


@pytest.mark.usefixtures("strict")
def test_strict_raises_at_birth() -> None:
    alarm(
        lambda: tf.math.log(X),  # eager birth
        marked("eager birth"),
        "Log (strict)",
    )


@pytest.mark.usefixtures("strict")
def test_strict_leaves_variables_as_they_were() -> None:
    variable = tf.Variable([1.0, 1.0, 1.0])

    @tf.function
    def step(x: Any) -> Any:
        variable.assign(tf.math.log(x + 0.0) * 2.0)  # strict in a function
        return variable * 1.0

    for _ in range(2):
        alarm(lambda: step(X), marked("strict in a function"), "step (strict)")
    assert variable.numpy().tolist() == [1.0, 1.0, 1.0]
    assert step(tf.ones([3])).numpy().tolist() == [0.0, 0.0, 0.0]


@pytest.mark.usefixtures("strict")
def test_strict_is_not_about_statistics_of_nothing() -> None:
    fused_batch_norm(tf.zeros([0, 2, 2, 3]))
    tf.function(fused_batch_norm)(tf.zeros([0, 2, 2, 3]))


@pytest.mark.parametrize("name", KERASES)
def test_keras_leaves_it_as_it_is(name: str, strict: Any) -> None:
    class Logarithm(load(name).layers.Layer):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            return tf.math.log(x)  # in a layer

    error = alarm(lambda: Logarithm()(X), marked("in a layer"), "")
    assert "Arguments received" not in str(error)
    there = pickle.loads(pickle.dumps(error))
    assert type(there) is NumericsError and str(there) == str(error) and there.findings == error.findings


def test_tensorflows_own_names() -> None:
    tensorsleuth.enable_check_numerics(stack_height_limit=30, path_length_limit=50)
    tensorsleuth.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"log\(0\)"):
            tf.math.log(X)
        with pytest.raises(SleuthError, match="strict is True, not False"):
            tensorsleuth.guard()
    finally:
        tensorsleuth.disable_check_numerics()
    tensorsleuth.disable_check_numerics()
    assert np.isinf(tf.math.log(X).numpy()[0])


# ---- with recordings, and without


def test_together_with_a_recording(tmp_path: Path) -> None:
    line = marked("log in a function")
    with tensorsleuth.guard():
        with tensorsleuth.record(tmp_path / "a") as recording:
            alarm(lambda: log_loss(X), line, "log_loss")
        assert recording.path is not None and any(tensorsleuth.open(recording.path).bad())
        alarm(lambda: log_loss(X), line, "log_loss")
    with tensorsleuth.record(tmp_path / "b") as recording:
        with tensorsleuth.guard():
            alarm(lambda: log_loss(X), line, "log_loss")
        assert np.isinf(log_loss(X).numpy())
    assert recording.path is not None and any(tensorsleuth.open(recording.path).bad())


def test_a_recording_that_does_not_look(tmp_path: Path) -> None:
    with tensorsleuth.guard(), tensorsleuth.record(tmp_path, mode="NO_TENSOR"):
        alarm(lambda: log_loss(X), marked("log in a function"), "log_loss")
    with tensorsleuth.record(tmp_path, mode="NO_TENSOR"), pytest.raises(SleuthError, match="NO_TENSOR"):
        tensorsleuth.guard()


def test_it_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shared = set(os.listdir("/dev/shm"))
    open_before = len(os.listdir("/proc/self/fd"))
    with tensorsleuth.guard(), pytest.raises(NumericsError):
        log_loss(X)
    assert os.listdir(tmp_path) == [] and set(os.listdir("/dev/shm")) <= shared
    assert len(os.listdir("/proc/self/fd")) <= open_before


@pytest.mark.parametrize("beside", [False, True])
def test_without_the_native_library(monkeypatch: pytest.MonkeyPatch, beside: bool) -> None:
    """Also beside expectations, which put frames of theirs between a function and the hook."""
    monkeypatch.setenv("SLEUTH_PROBE", "numpy")
    if beside:
        tf.function(lambda x: tensorsleuth.expect(x, finite=True), jit_compile=True)(X)
    line = marked("log in a function")
    with tensorsleuth.guard():
        masked_log_function(X).numpy()
        alarm(lambda: log_loss(X), line, "log_loss")
        quotient = masked_log(X) / X[0]  # quotient
        alarm(lambda: float(quotient), marked("quotient"), "Python")
    with tensorsleuth.guard(strict=True):
        alarm(lambda: log_loss(X), line, "log_loss (strict)")


def test_the_guarded_program_computes_the_same_bits() -> None:
    step = tf.function(lambda x: tf.reduce_sum(tf.exp(tf.linalg.matmul(x, x) / 3.0)))
    x = tf.random.stateless_normal([64, 64], [1, 2]) * 0.1
    bare = bits(step(x))
    with tensorsleuth.guard():
        assert bits(step(x)) == bare


def test_growth_is_told_by_what_came_long_before(guard: Any) -> None:
    weight = tf.Variable(1.0)

    def train() -> None:
        for _ in range(30):
            with tf.GradientTape() as tape:
                loss = tf.square(weight)
            weight.assign_sub(50.0 * tape.gradient(loss, weight))  # update of its own

    error = alarm(train, marked("update of its own"), "the loss")
    assert error.findings[0].cause == "learning-rate"


def test_a_flight_recorder_looks_on_while_the_guard_does(tmp_path: Path) -> None:
    with tensorsleuth.guard(), tensorsleuth.record(tmp_path, mode="FLIGHT") as recording:
        tf.function(lambda x: tf.math.log(x) * 2.0)(tf.constant([1.0, 2.0]))
        tf.math.log(tf.constant([4.0]))
    assert recording.path is not None
    looks = tensorsleuth.open(recording.path).tensors(op="Log").health["max"]
    assert len(looks) == 1  # that of the eager op: what a function computes is not looked at while all goes well
    events = tensorsleuth.open(recording.path).events
    assert not (events["flags"] & EventFlag.MOMENTS).any()  # FULL_HEALTH, no closer
