"""`sleuth run --watch` on an unedited program, one that ends and one that is killed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests import warm_python

import tensorsleuth

WATCHED = """
import os, signal, sys
import tensorflow as tf
import tensorsleuth

weights = tf.Variable([2.0], name="layer/weights")

@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(weights * weights)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    tensorsleuth.log("loss {loss:.3f}", loss=loss)

for _ in range(3):
    step()
if "die" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(WATCHED)
    return tmp_path


def sleuth(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm_python.shared().sleuth(*arguments, cwd=place, env={"COLUMNS": "100"})


def test_what_was_watched_and_logged(place: Path) -> None:
    asked = ["--watch", "layer/weights", "--watch", "gradient:.*", "--watch-every", "2"]
    done = sleuth(place, "run", *asked, "train.py")
    assert done.returncode == 0, done.stderr
    assert "loss 4.000" in done.stderr and "3 messages logged" in done.stderr
    trace = tensorsleuth.open(None, str(place / "sleuth_runs"))
    assert sorted((one.kind, one.name, one.steps.tolist()) for one in trace.watched()) == [
        ("gradient", "layer/weights", [0, 2]),
        ("variable", "layer/weights", [0, 2]),
    ]
    assert [one.step for one in trace.logs()] == [0, 1, 2]
    assert len(list((trace.path / "tensorboard").iterdir())) == 1
    told = sleuth(place, "info").stdout
    assert "2 series, 4 samples" in told and "3 messages" in told
    removed = sleuth(place, "rm", "--yes", trace.path.name)
    assert removed.returncode == 0, removed.stderr


def test_a_killed_program_keeps_what_was_seen(place: Path) -> None:
    sleuth(place, "run", "--watch", "layer/weights", "--watch", "gradient:.*", "train.py", "die")
    trace = tensorsleuth.open(None, str(place / "sleuth_runs"))
    assert trace.meta["ended"]["signal"] == "SIGKILL"
    steps = {one.kind: one.steps.tolist() for one in trace.watched()}
    assert steps == {"gradient": [0, 1, 2], "variable": [0, 1, 2]}  # each when its step had trained
    assert [str(one) for one in trace.logs()] == ["loss 4.000", "loss 2.560", "loss 1.638"]
    (events,) = (trace.path / "tensorboard").iterdir()
    assert events.stat().st_size > 200  # the first step; the rest waits for two seconds


def test_what_cannot_be_watched_is_refused_before_anything_runs(place: Path) -> None:
    refused = sleuth(place, "run", "--watch", "layr:x", "train.py")
    assert refused.returncode != 0 and "Did you mean 'layer'?" in refused.stderr
    assert not (place / "sleuth_runs").exists()
