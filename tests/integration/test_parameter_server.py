"""A coordinator that has functions run by workers: watched there where those are recorded too, never in their way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import warm_python
from tests.integration.test_workers import QUIET, SLEUTH, free_ports

PROGRAM = """
import json, os, subprocess, sys
from sys import argv
cluster = {"worker": [f"localhost:{argv[1]}"], "ps": [f"localhost:{argv[2]}"]}
if len(argv) > 4:
    import tensorflow as tf
    tf.distribute.Server(cluster, job_name=argv[4], task_index=0, protocol="grpc").join()
given = dict(os.environ)
if argv[3] == "alone":  # the others are started where nothing is watched
    given = {name: value for name, value in given.items() if not name.startswith(("SLEUTH", "PYTHONPATH"))}
others = [subprocess.Popen([sys.executable, *argv[:4], job], env=given) for job in cluster]
import numpy as np, tensorflow as tf
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(cluster), rpc_layer="grpc")
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    w = tf.Variable(tf.ones([4]), name="w")

@tf.function
def step(x):
    def replica(x):
        with tf.GradientTape() as tape:
            scaled = x * 3.0 * w / 7.0 * w  # what the optimiser reorders
            loss = tf.reduce_mean(tf.math.log(tf.reduce_sum(scaled, 1)))  # bad
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss
    return strategy.run(replica, args=(x,))

for i in range(4):
    x = np.full([8, 4], 1.1 + i, np.float32)
    x[3] *= 0 if i == 2 else 1
    loss = coordinator.schedule(step, args=(tf.constant(x),))
    coordinator.join()
    print("RESULT", loss.fetch().tobytes().hex(), w.numpy().tobytes().hex())
for other in others:
    other.kill()
"""
LINE = next(n for n, text in enumerate(PROGRAM.splitlines(), 1) if text.endswith("# bad"))


def results(folder: Path, how: str, command: list[str]) -> list[str]:
    (folder / "train.py").write_text(PROGRAM)
    arguments = ["train.py", *free_ports(2), how]
    done = subprocess.run([*command, *arguments], cwd=folder, env=QUIET, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0 and "tensorsleuth:" not in done.stderr, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith("RESULT")]


def verdict(folder: Path, how: str) -> tuple[dict[str, Any], list[str]]:
    watched = results(folder, how, [*SLEUTH, "run", "--quiet"])
    why = warm_python.shared().sleuth("why", "--json", cwd=folder)
    found: dict[str, Any] = json.loads(why.stdout)
    assert found["trouble"] == []
    return found, watched


def test_what_workers_run_is_told_by_its_line(tmp_path: Path) -> None:
    found, watched = verdict(tmp_path, "together")
    first = found["findings"][0]
    assert (first["cause"], first["line"], first["step"], first["worker"]) == ("log-zero", LINE, 2, "worker 0")
    assert watched == results(tmp_path, "together", [sys.executable])


@pytest.mark.long
def test_workers_that_nobody_watches_get_the_function_as_it_is(tmp_path: Path) -> None:
    found, watched = verdict(tmp_path, "alone")
    first = found["findings"][0]
    assert (first["cause"], first["line"], first["step"]) == ("origin", LINE, 2)
    assert "step" in first["name"]
    assert [one["what"] for one in found["not_covered"]] == ["the inside of functions that run on worker 0"]
    assert watched == results(tmp_path, "alone", [sys.executable])
    assert len(os.listdir(tmp_path / "sleuth_runs")) == 1
