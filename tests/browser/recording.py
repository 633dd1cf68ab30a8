"""Runs for the browser tests, recorded by real programs; once for all workers of a test session."""

from __future__ import annotations

import fcntl
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests import warm_python

TRANSFORMER = Path(__file__).with_name("little_transformer.py")
WORDS = re.findall(r'^WORDS = "(.*?)"', TRANSFORMER.read_text(), re.MULTILINE)[0].split()
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


def sleuth(*arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = warm_python.shared().sleuth(*arguments, env=QUIET)
    assert done.returncode in (0, 1) or not check, f"{done.args} failed:\n{done.stdout}\n{done.stderr}"
    return done


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, filled by whichever worker of the session comes first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = folder.with_name(f"{folder.name}.part")
            part.mkdir()
            make(part)
            part.rename(folder)
    return folder


def demo(logdir: Path) -> None:
    """The run of `sleuth demo`."""
    sleuth("demo", "--logdir", logdir)


TRAINED = """
import tensorflow as tf

weights = [tf.Variable(tf.random.normal([1024, 1024]) / 32) for _ in range(3)]
velocity = [tf.Variable(tf.zeros([1024, 1024])) for _ in range(3)]

@tf.function
def train(x):
    with tf.GradientTape() as tape:
        for weight in weights:
            x = tf.nn.relu(tf.matmul(x, weight))
        loss = tf.reduce_mean(tf.square(x))
    for weight, moved, gradient in zip(weights, velocity, tape.gradient(loss, weights)):
        moved.assign(0.9 * moved + gradient)
        weight.assign_sub(0.01 * moved)
    return loss

for number in range(30):
    train(tf.random.normal([512, 1024]))
"""


def trained(logdir: Path) -> None:
    """A program that takes some ten megabytes in tensors, over some seconds."""
    program = logdir.parent / "trained.py"
    program.write_text(TRAINED)
    sleuth("run", "--logdir", logdir, program)


def transformer(logdir: Path) -> None:
    """A small one that trains, looked into every 20 steps."""
    sleuth("run", "--logdir", logdir, "--inside-every", 20, TRANSFORMER)
