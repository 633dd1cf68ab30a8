"""Several devices of one process: same bits, the user's lines, replicas apart; devices that are not there."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tensorsleuth
from tensorsleuth.trace.reader import Trace

BEGIN = """
import json, os, sys
import numpy as np, tensorflow as tf
if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
tf.random.set_seed(1)

def shards(zeros):  # of eight rows, in four batches, half of each for each replica; rows of zeros among them
    data = 1 + np.arange(32 * 4, dtype=np.float32).reshape([32, 4]) / 100
    data[zeros] = 0
    return tf.data.Dataset.from_tensor_slices(data).batch(8)

def result(numbers):  # every bit of it
    print("RESULT", np.asarray(numbers, np.float32).tobytes().hex())

"""

# The function that replicas run is defined in another one: TensorFlow knows its lines only by AutoGraph's file.
LOOP = """
with strategy.scope():
    w = tf.Variable(tf.ones([4]), name="w")

@tf.function
def step(x):
    def replica(x):
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(x * w * w, 1)
            if tf.reduce_sum(total) > -1.0:
                total = tf.math.log(total)  # bad
            loss = tf.reduce_mean(total)
        gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, w))
        w.assign_sub(0.01 * gradient)
        with tf.init_scope():
            tf.constant([1.0]) + 1.0  # eager
        return loss
    return strategy.reduce("mean", strategy.run(replica, args=(x,)), axis=None)

losses = [step(x).numpy() for x in strategy.experimental_distribute_dataset(shards(ZEROS))]
result([*losses, *w.numpy()])
"""

EAGER = """
with strategy.scope():
    w = tf.Variable(tf.ones([4]), name="w")

def replica(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.math.log(tf.reduce_sum(x * w * w, 1)))  # bad
    gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, w))
    w.assign_sub(0.01 * gradient)
    return loss

batches = strategy.experimental_distribute_dataset(shards([14]))
losses = [strategy.reduce("mean", strategy.run(replica, args=(x,)), axis=None) for x in batches]
result([*losses, *w.numpy()])
"""

KERAS = """
keras.utils.set_random_seed(1)

class Rates(keras.layers.Layer):
    def call(self, x):
        return tf.math.log(x)  # bad

with strategy.scope():
    model = keras.Sequential([Rates(), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
data = shards(ZEROS).map(lambda x: (x, tf.reduce_sum(x, 1)))
losses = model.fit(data, epochs=1, verbose=0).history["loss"]
result([*losses, *model.get_weights()[0].ravel()])
"""

PROGRAMS = {
    "loop": LOOP,
    "keras": "import keras\n" + KERAS,
    "tf_keras": "import tf_keras as keras\n" + KERAS,
}
QUIET = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}


def run(folder: Path, command: list[str]) -> str:
    done = subprocess.run(command, cwd=folder, env=QUIET, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "tensorsleuth:" not in done.stderr, done.stderr
    found = re.search("RESULT (.*)", done.stdout)
    assert found is not None, done.stdout
    return found.group(1)


def verdict(folder: Path, text: str) -> tuple[dict[str, Any], str]:
    """What `sleuth why` says of a program that is watched, and what the program computes; the same bits as bare."""
    (folder / "train.py").write_text(text)
    sleuth = [sys.executable, "-m", "tensorsleuth.cli.main"]
    watched = run(folder, [*sleuth, "run", "--quiet", "train.py"])
    assert watched == run(folder, [sys.executable, "train.py"])
    why = subprocess.run([*sleuth, "why", "--json"], cwd=folder, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(why.stdout)
    assert found["trouble"] == []
    return found, watched


def line(text: str, mark: str) -> int:
    return next(n for n, code in enumerate(text.splitlines(), 1) if code.endswith(f"# {mark}"))


def files_of_replicas(trace: Trace) -> set[str]:
    """Where, for a person to see, the ops come from that the second replica runs."""
    (process,) = trace.processes
    nodes = [node for function in process.catalogue.functions.values() for node in function.nodes]
    sites = [process.catalogue.sites[node.site] for node in nodes if "replica_1/" in node.name]
    return {Path(site.frame.file).name for site in sites if site.frame is not None}


@pytest.mark.parametrize("name", ["loop", "keras", pytest.param("tf_keras", marks=pytest.mark.long)])
def test_the_replica_that_broke_first_is_named(name: str, tmp_path: Path) -> None:
    if name == "tf_keras" and importlib.util.find_spec(name) is None:
        pytest.skip("TensorFlow 2.15 has it as Keras")
    text = BEGIN + PROGRAMS[name].replace("ZEROS", "[14]")  # the second batch, the second half
    found, _ = verdict(tmp_path, text)
    first = found["findings"][0]
    assert (first["cause"], Path(first["file"]).name, first["line"]) == ("log-zero", "train.py", line(text, "bad"))
    assert first["step"] == 1
    assert first["replica"] == "replica 1 of 2 (CPU:1)"
    assert first["others"] == "replica 0 caught it from the all-reduce"
    assert "on replica 1 of 2 (CPU:1)" in first["summary"]
    assert first["layer"] is None or "replica" not in first["layer"]
    assert {one["line"] for one in found["findings"]} == {line(text, "bad")}
    assert files_of_replicas(tensorsleuth.open(found["run"])) == {"train.py"}  # also of what Keras runs by itself


def test_replicas_are_apart_and_every_line_is_the_users(tmp_path: Path) -> None:
    text = BEGIN + LOOP.replace("ZEROS", "[9, 14]")  # both halves of the second batch
    found, _ = verdict(tmp_path, text)
    first = found["findings"][0]
    other = 1 - int(first["replica"].split()[1])  # both are to blame, and the report names the one that was seen first
    assert first["others"] == f"replica {other} broke in the same step too"
    trace = tensorsleuth.open(tmp_path / "sleuth_runs" / os.listdir(tmp_path / "sleuth_runs")[0])
    (process,) = trace.processes
    files = {Path(frame.file).name for site in process.catalogue.sites.values() for frame in site.frames}
    assert not [name for name in files if "autograph" in name]
    at = [site.frame.line for site in process.catalogue.sites.values() if site.frame is not None]
    assert line(text, "eager") in at and line(text, "bad") in at
    logs = trace.tensors(op="Log", step=1)
    assert {one.name for one in logs if one.health["neg_inf"]} == {"cond/Log:0", "replica_1/cond/Log:0"}
    assert {variable.name for variable in trace.variables()} == {"w:0", "w/replica_1:0"}


def test_replicas_that_run_eagerly_share_a_step(tmp_path: Path) -> None:
    found, _ = verdict(tmp_path, BEGIN + EAGER)
    first = found["findings"][0]
    assert (first["cause"], first["line"], first["step"]) == ("log-zero", line(BEGIN + EAGER, "bad"), 1)
    assert first["replica"] is None  # docs/coverage.md


PLACED = """
import numpy as np, tensorflow as tf

@tf.function
def f(x):
    with tf.device("/GPU:0"):
        return tf.math.log(x)  # bad

def tried(soft):
    tf.config.set_soft_device_placement(soft)
    try:
        with tf.device("/GPU:0"):
            return f(tf.constant([0.0, 2.0])).numpy().tobytes().hex()
    except (tf.errors.OpError, RuntimeError) as error:
        return type(error).__name__ + str(error)[:60]

if not tf.config.list_physical_devices("GPU"):
    print("RESULT", repr([tried(True), tried(False), tried(True)]))
"""


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    found, result = verdict(tmp_path, PLACED)
    assert "InvalidArgumentError" in result
    first = found["findings"][0]
    assert (first["cause"], first["line"], first["replica"]) == ("log-zero", line(PLACED, "bad"), None)
