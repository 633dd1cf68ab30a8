"""Two workers that train together: the one whose data is bad is blamed, not the one that was sent its gradients."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

WORKER = """
import json, os, sys
index, *ports = map(int, sys.argv[1:])
cluster = {"worker": [f"localhost:{port}" for port in ports]}
os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
import numpy as np, tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weight = tf.Variable(tf.ones([4]))

@tf.function(autograph=False)
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
    step(tf.constant(x))
assert not np.isfinite(weight.numpy()).all()
"""
PARENT = """
import subprocess, sys
workers = [subprocess.Popen([sys.executable, "worker.py", str(i), *sys.argv[1:]]) for i in range(2)]
sys.exit(max(worker.wait() for worker in workers))
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def test_the_worker_whose_data_is_bad_is_blamed(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "parent.py").write_text(PARENT)
    sleuth = [sys.executable, "-m", "tensorsleuth.cli.main"]
    quiet = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    ports = [str(port) for port in free_ports(2)]
    subprocess.run([*sleuth, "run", "--quiet", "parent.py", *ports], cwd=tmp_path, env=quiet, check=True, timeout=240)
    why = subprocess.run([*sleuth, "why", "--json"], cwd=tmp_path, capture_output=True, text=True)
    found = json.loads(why.stdout)["findings"]
    line = next(n for n, text in enumerate(WORKER.splitlines(), 1) if text.endswith("# bad"))
    assert [(one["cause"], Path(one["file"]).name, one["line"]) for one in found] == [("log-zero", "worker.py", line)]
