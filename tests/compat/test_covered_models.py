"""Saved models, Keras and several devices: what is saved is clean, what is loaded is recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import assert_joined, bits, in_graph, looks, marked

import tensorsleuth
from tensorsleuth.trace.reader import Trace

# Keras 2 on Python 3.11
pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")

Compared = Callable[..., Trace]
X = tf.constant([1.0, 2.0, 0.0])
BARE = """
import sys, tensorflow as tf
print(tf.saved_model.load(sys.argv[1])(tf.constant([1.0, 2.0, 0.0])).numpy().tobytes().hex())
"""


class Saved(tf.Module):
    """Something to save: a nested function, a loop, a variable, a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable(2.0)
        self.inner = tf.function(lambda x: tf.math.log(x))

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def __call__(self, x: Any) -> Any:
        for _ in tf.range(2):
            x = self.inner(x) * self.weight + 1.0
        return x


def test_a_model_saved_before(compared: Compared, tmp_path: Path) -> None:
    tf.saved_model.save(Saved(), str(tmp_path / "model"))
    trace = compared(lambda: tf.saved_model.load(str(tmp_path / "model"))(X))
    found = in_graph(trace, "Log")
    assert [look.iteration for look in found] == [0, 1]
    assert [look.bad for look in found] == [True, True]
    assert_joined(trace)


def test_a_loaded_model_in_a_function_and_its_gradient(compared: Compared, tmp_path: Path) -> None:
    tf.saved_model.save(Saved(), str(tmp_path / "model"))
    model = tf.saved_model.load(str(tmp_path / "model"))

    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(model(x + 1.0))
            return y, tape.gradient(y, model.weight)

        return function(X), model.signatures["serving_default"](x=X)

    trace = compared(program)
    assert len(in_graph(trace, "Log")) == 4
    assert_joined(trace)


def test_a_model_saved_while_recording_is_clean(tmp_path: Path) -> None:
    with tensorsleuth.record(tmp_path / "runs"):
        model = Saved()
        during = model(X)
        tf.saved_model.save(model, str(tmp_path / "model"))
        reloaded = tf.saved_model.load(str(tmp_path / "model"))(X)
    assert bits(reloaded) == bits(during)
    for file in (tmp_path / "model").rglob("*"):
        assert not file.is_file() or b"leuth" not in file.read_bytes().replace(__file__.encode(), b""), file
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-c", BARE, str(tmp_path / "model")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == np.asarray(during).tobytes().hex(), done.stderr


def test_checkpoints(compared: Compared, tmp_path: Path) -> None:
    def program() -> Any:
        model = Saved()
        model.weight.assign(3.0)
        path = tf.train.Checkpoint(model=model).save(str(tmp_path / "checkpoint"))
        other = Saved()
        tf.train.Checkpoint(model=other).restore(path).assert_consumed()
        return other(X)

    assert_joined(compared(program))


def network() -> Any:
    class Scale(tf.keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return tf.math.log(tf.nn.relu(x) + 1e-30)  # log in a layer

    tf.keras.utils.set_random_seed(3)
    layers = [tf.keras.layers.Dense(8, activation="relu"), Scale(), tf.keras.layers.Dropout(0.3)]
    layers += [tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(3)]
    model = tf.keras.Sequential([tf.keras.Input((4,)), *layers])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return model


def test_keras_fit_predict_and_evaluate(compared: Compared) -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(40, 4)).astype("float32"), random.integers(3, size=40)

    def program() -> Any:
        model = network()
        history = model.fit(x, y, batch_size=8, epochs=2, verbose=0, validation_data=(x, y)).history
        return history["loss"], model.predict(x, verbose=0), model.evaluate(x, y, verbose=0), model.get_weights()

    trace = compared(program)
    logs = in_graph(trace, "Log", marked("log in a layer"))
    assert len(logs) >= 10
    assert all(look.frame.file == __file__ for look in logs)
    backward = [look for look in in_graph(trace) if look.tensor.node and look.tensor.node.forward]
    lines = {look.forward_line for look in backward}
    assert marked("log in a layer") in lines
    steps = {look.step for look in backward}
    assert steps == set(range(10)), steps
    assert trace.not_covered == []


def test_keras_run_eagerly(compared: Compared) -> None:
    x, y = np.ones((4, 4), "float32"), np.zeros(4, int)

    def program() -> Any:
        model = network()
        model.run_eagerly = True
        return model.fit(x, y, batch_size=2, verbose=0).history["loss"], model.get_weights()

    found = looks(compared(program), "Log", marked("log in a layer"))
    assert sorted({look.step for look in found if look.step is not None}) == [0, 1]


@pytest.mark.filterwarnings("ignore")
def test_keras_models_saved_while_recording_are_clean(tmp_path: Path) -> None:
    x = np.ones((2, 4), "float32")
    with tensorsleuth.record(tmp_path / "runs"):
        model = network()
        model.fit(x, np.zeros(2, int), verbose=0)
        model.save_weights(str(tmp_path / "model.weights.h5"))
        tf.saved_model.save(model, str(tmp_path / "saved"))
        during = model(x)
    graph = (tmp_path / "saved" / "saved_model.pb").read_bytes()
    assert b"leuth" not in graph.replace(__file__.encode(), b"")
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    again = loaded.signatures["serving_default"](tf.constant(x))
    np.testing.assert_allclose(next(iter(again.values())), during, rtol=1e-6)


MIRRORED = """
import sys, numpy as np, tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import tensorsleuth, contextlib
recording = tensorsleuth.record(sys.argv[2]) if sys.argv[1] == "watched" else contextlib.nullcontext()
with recording:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        weight = tf.Variable([1.0, 2.0])
    @tf.function
    def train(x):
        def replica(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.math.log(weight * x))
            gradient = tape.gradient(loss, weight)
            weight.assign_sub(0.1 * tf.distribute.get_replica_context().all_reduce("sum", gradient))
            return loss
        return strategy.reduce("SUM", strategy.run(replica, [x]), None)
    dataset = tf.data.Dataset.from_tensor_slices(np.arange(1, 9, dtype="f4")).batch(2)
    for x in strategy.experimental_distribute_dataset(dataset):
        print(train(x).numpy().tobytes().hex())
print(weight.numpy().tobytes().hex())
"""


def test_mirrored_strategy(tmp_path: Path) -> None:
    def run(how: str) -> str:
        command = [sys.executable, "-c", MIRRORED, how, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "tensorsleuth:" not in done.stderr
        return done.stdout

    assert run("watched") == run("bare")
    trace = tensorsleuth.open(next(tmp_path.iterdir()))
    logs = in_graph(trace, "Log")
    assert len(logs) == 8
    assert {look.tensor.node.device.rsplit(":", 1)[-1] for look in logs if look.tensor.node} == {"0", "1"}
    assert sorted({look.step for look in logs if look.step is not None}) == [0, 1, 2, 3]
