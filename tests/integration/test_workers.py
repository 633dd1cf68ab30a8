"""Workers that train together: the one whose data is bad is blamed, not those that were sent its gradients."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests import warm_python

WORKER = """
import json, os, signal, sys
index, *ports = map(int, sys.argv[1:3 + 1])
killed = "killed" in sys.argv
cluster = {"worker": [f"localhost:{port}" for port in ports]}
os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
import numpy as np, tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weight = tf.Variable(tf.ones([4]))

@tf.function
def step(x):
    def replica(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.math.log(tf.reduce_sum(x * weight * weight, 1)))  # bad
        gradient = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weight))
        weight.assign_sub(0.1 * gradient)
    strategy.run(replica, args=(x,))

for i in range(3):
    x = np.full([8, 4], 1.0 + i, np.float32)
    x[3] *= 0 if i == 1 and index == 1 else 1
    if killed and i == 2 and index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    step(tf.constant(x))
    print("RESULT", index, i, weight.numpy().tobytes().hex(), flush=True)
assert not np.isfinite(weight.numpy()).all()
"""
LAUNCHER = """
import subprocess, sys
workers = [subprocess.Popen([sys.executable, "worker.py", str(i), *sys.argv[1:]]) for i in range(2)]
codes = [workers[1].wait()]
try:
    codes.append(workers[0].wait(60 if "killed" in sys.argv else None))
except subprocess.TimeoutExpired:  # it may wait for the other for ever
    workers[0].terminate()
sys.exit(max(map(abs, codes)))
"""
SLEUTH = [sys.executable, "-m", "tensorsleuth.cli.main"]
QUIET = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
LINE = next(n for n, text in enumerate(WORKER.splitlines(), 1) if text.endswith("# bad"))


def free_ports(count: int) -> list[str]:
    """Ports that nobody else is given meanwhile: below those that the system hands out, each test worker its own."""
    first = 20_000 + 1000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    candidates = random.SystemRandom().sample(range(first, first + 1000), 1000)
    return [str(port) for port in islice(filter(_is_free, candidates), count)]


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("localhost", port)).close()
    except OSError:
        return False
    return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "launcher.py").write_text(LAUNCHER)
    return tmp_path


def launch(folder: Path, *args: str, watched: bool = True) -> subprocess.CompletedProcess[str]:
    program = [*SLEUTH, "run", "--quiet"] if watched else [sys.executable]
    command = [*program, "launcher.py", *free_ports(2), *args]
    return subprocess.run(command, cwd=folder, env=QUIET, capture_output=True, text=True, timeout=240)


def findings(folder: Path) -> list[dict[str, Any]]:
    why = warm_python.shared().sleuth("why", "--json", cwd=folder)
    found: list[dict[str, Any]] = json.loads(why.stdout)["findings"]
    return found


def the_blame(finding: dict[str, Any]) -> tuple[Any, ...]:
    return finding["cause"], Path(finding["file"]).name, finding["line"], finding["step"], finding["worker"]


BLAMED = ("log-zero", "worker.py", LINE, 1, "worker 1 of 2")


def test_the_worker_whose_data_is_bad_is_blamed(folder: Path) -> None:
    done = launch(folder)
    assert done.returncode == 0, done.stderr[-3000:]
    (found,) = findings(folder)
    assert the_blame(found) == BLAMED
    assert found["others"] == "worker 0 caught it from the all-reduce at step 1"


def test_a_worker_that_is_killed_loses_only_itself(folder: Path) -> None:
    done = launch(folder, "killed")
    assert done.returncode != 0
    found = findings(folder)
    assert the_blame(found[0]) == BLAMED
    assert [one["cause"] for one in found[1:]] in ([], ["worker-lost"])  # it may wait for the other until terminated


@pytest.mark.long
def test_workers_that_are_started_one_by_one_join_a_run(folder: Path) -> None:
    ports = free_ports(2)
    command = [*SLEUTH, "run", "--quiet", "--join", "both", "worker.py"]
    workers = [subprocess.Popen([*command, str(index), *ports], cwd=folder, env=QUIET) for index in range(2)]
    assert [worker.wait(240) for worker in workers] == [0, 0]
    (found,) = findings(folder)
    assert the_blame(found) == BLAMED
    assert found["others"] == "worker 0 caught it from the all-reduce at step 1"
    assert os.listdir(folder / "sleuth_runs") == ["both"]


@pytest.mark.long
def test_workers_compute_the_same_bits(folder: Path) -> None:
    watched, bare = (sorted(launch(folder, watched=way).stdout.splitlines()) for way in (True, False))
    assert watched == bare and len(bare) == 6
