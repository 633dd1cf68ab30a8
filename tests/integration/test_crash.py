"""A program that dies at any moment leaves all that was recorded before, in default settings."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tensorsleuth
from tensorsleuth.core.layout.rows import CallKind, EventKind
from tensorsleuth.trace.process.process import ProcessTrace

if importlib.util.find_spec("tensorflow") is None:
    pytest.skip("needs TensorFlow", allow_module_level=True)

SOURCES = Path(__file__).parents[2] / "src"
WIDTH, WARM_UP = 40, 2  # ops in the function; steps until everything is traced and optimized
LONG_ROUNDS, ROUNDS = 6, 1

# Imports TensorFlow once. For every line on stdin (folder, how to die, after how many steps, how many microseconds
# later) it forks a child, before TensorFlow has started a thread. A child reports its steps through a pipe.
SERVER = """
import ctypes, os, signal, sys, threading, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
import tensorsleuth

WIDTH = int(sys.argv[1])

DIE = {
    "abort": os.abort,
    "exit": lambda: os._exit(3),
    "segfault": lambda: ctypes.string_at(0),
    "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "terminated": lambda: os.kill(os.getpid(), signal.SIGTERM),
}

def program(logdir, how, after, delay):
    tensorsleuth.record(logdir)
    weights = tf.Variable(tf.ones([8]))

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            y = weights * x
            for _ in range(WIDTH):
                y = tf.tanh(y)
            loss = tf.reduce_sum(y)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    def killer():
        if wait.wait():
            time.sleep(delay / 1e6)
            DIE[how]()

    wait = threading.Event()
    threading.Thread(target=killer, daemon=True).start()
    step = 0
    while True:
        x = tf.fill([8], 0.5) + 0.25
        loss = train(x)
        tf.math.log(loss * loss + 1.0)
        step += 1
        os.write(1, b"%d\\n" % step)
        if step == after:
            wait.set()

for line in sys.stdin:
    logdir, how, after, delay = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if not child:
        try:
            program(logdir, how, int(after), int(delay))
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    os.write(1, b"died %d\\n" % os.waitstatus_to_exitcode(status))
"""

EXPECTED = {
    "abort": -signal.SIGABRT,
    "exit": 3,
    "segfault": -signal.SIGSEGV,
    "killed": -signal.SIGKILL,
    "terminated": -signal.SIGTERM,
}


class Server:
    """Runs the program in a child of one process that has TensorFlow."""

    def __init__(self) -> None:
        environment = os.environ | {"PYTHONPATH": str(SOURCES), "CUDA_VISIBLE_DEVICES": "-1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(WIDTH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def run(self, logdir: Path, how: str, after: int, delay: int) -> tuple[int, int]:
        """The number of steps that were reported, and the exit code."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{logdir}\t{how}\t{after}\t{delay}\n")
        self._process.stdin.flush()
        steps = 0
        for line in self._process.stdout:
            if line.startswith("died"):
                return steps, int(line.split()[1])
            steps = int(line)
        raise AssertionError("the server itself died")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def steps_of(process: ProcessTrace) -> dict[int, list[tuple[int, int]]]:
    """Of each training call: (kind, tensor) of every event from that call to the next."""
    calls = process.calls
    trains = [
        int(row["call"])
        for row in calls[calls["kind"] == CallKind.FUNCTION]
        if process.catalogue.eager[int(row["op"])].instance >= 0
    ]
    found: dict[int, list[tuple[int, int]]] = {at: [] for at in range(len(trains))}
    for row in process.events:
        call = process.call_of(row)
        assert call is not None, "a graph row that belongs to no call"
        at = int(np.searchsorted(trains, call, "right")) - 1
        if at >= 0:
            found[at].append((int(row["kind"]), int(row["tensor"])))
    return found


def check(run: Path, steps: int) -> None:
    trace = tensorsleuth.open(run)
    assert trace.trouble == []
    (process,) = trace.processes
    assert np.all(trace.events["kind"] != 0)
    assert process.lost_events <= 16, "no more than the rows under way"
    unnamed = [number for number in np.unique(trace.events["tensor"]) if process.tensor(number) is None]
    assert unnamed == []
    found = steps_of(process)
    assert len(found) >= steps
    events = [sorted(found[at]) for at in range(steps)]
    graph = [sum(kind == EventKind.GRAPH for kind, _ in rows) for rows in events]
    assert min(graph) >= 2 * WIDTH, "forward and backward, in every step"
    assert all(rows == events[WARM_UP] for rows in events[WARM_UP:-1]), "every step is as whole as the others"
    end = tensorsleuth.diagnose(trace).end
    assert end is not None and end.kind == "cut-short"
    assert end.doing[0].thread == "main thread" and end.doing[0].line is not None
    last = [row for row in events[-1] if row[0] == EventKind.GRAPH]
    assert last == [row for row in events[min(WARM_UP, steps - 1)] if row[0] == EventKind.GRAPH]


def die(server: Server, tmp_path: Path, how: str, rounds: int, seed: int = 1) -> None:
    print(f"seed {seed}")  # shown where it fails
    chance = random.Random(seed)
    for number in range(rounds):
        after, delay = chance.choice([1, 2, 3, 10, 50, chance.randrange(1, 300)]), chance.randrange(0, 20_000)
        print(f"round {number}: {how} {delay} us after step {after}")
        logdir = tmp_path / f"runs-{number}"
        steps, code = server.run(logdir, how, after, delay)
        assert code == EXPECTED[how]
        assert steps >= after
        (run,) = logdir.iterdir()
        check(run, steps)


@pytest.mark.parametrize("how", EXPECTED)
def test_what_was_recorded_is_there_after(server: Server, tmp_path: Path, how: str) -> None:
    die(server, tmp_path, how, ROUNDS)


@pytest.mark.long
@pytest.mark.parametrize("how", EXPECTED)
def test_what_was_recorded_is_there_after_many_times(server: Server, tmp_path: Path, how: str) -> None:
    die(server, tmp_path, how, LONG_ROUNDS, time.time_ns())
