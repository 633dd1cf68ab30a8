"""The times of ops are those that TensorFlow's own profiler measures, in the same steps of the bundled Transformer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tensorsleuth.analyze.profile.profile import Profile
from tensorsleuth.analyze.profile.report import ProfileReport, make_profile_report
from tensorsleuth.trace.reader import open_trace

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import glob, json, sys
from collections import defaultdict
import tensorflow as tf
threads, folder = int(sys.argv[1]), sys.argv[2]
tf.config.threading.set_inter_op_parallelism_threads(threads)
tf.config.threading.set_intra_op_parallelism_threads(threads)
import tensorsleuth
from bench.models import Transformer

model = Transformer(layers=2)
with tensorsleuth.record(folder + "/runs"):
    float(model.step())
    tf.profiler.experimental.start(folder + "/tf")
    for _ in range(5):
        float(model.step())
    tf.profiler.experimental.stop()

from tensorflow.tsl.profiler.protobuf import xplane_pb2
space, times = xplane_pb2.XSpace(), defaultdict(list)
with open(glob.glob(folder + "/tf/plugins/profile/*/*.xplane.pb")[0], "rb") as file:
    space.ParseFromString(file.read())
for plane in space.planes:
    names = {key: value.name for key, value in plane.event_metadata.items()}
    for line in plane.lines:
        for event in line.events:
            node, colon, kind = names[event.metadata_id].rpartition(":")
            if colon and not node.endswith(":"):
                kind = node.split("/")[-2] if kind == "_UnaryOpsComposition" else kind
                kind = kind.removeprefix("_MklNative").removeprefix("_Mkl")  # as oneDNN renames them
                times[kind + " " + node].append(event.duration_ps // 1000)
print(json.dumps(times))
"""


def in_both(threads: int, folder: Path) -> tuple[dict[str, float], dict[str, float], ProfileReport]:
    """Nanoseconds of a step by type of op, TensorFlow's and ours, and what the report says.

    Of each op the least over the steps: a busy machine may stop a thread between an op and the probe behind it.
    """
    command = [sys.executable, "-c", PROGRAM, str(threads), str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    told, profile = make_profile_report(open_trace(logdir=str(folder / "runs")))
    return by_type(json.loads(done.stdout.splitlines()[-1])), by_type(our_times(profile)), told


def our_times(profile: Profile) -> dict[str, list[int]]:
    times: dict[str, list[int]] = defaultdict(list)
    run = profile.op_runs
    for at in np.flatnonzero(profile.within(run.end) & ~run.is_extra_output & (run.call >= 0)).tolist():
        op = profile.process_index.op_index.ops[int(run.op[at])]
        times[f"{op.type} {op.name}"].append(int(run.end[at] - run.begin[at]))
    return times


def by_type(times: dict[str, list[int]]) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for name, some in times.items():
        sums[name.split(" ")[0]] += min(some)
    return sums


@pytest.mark.machine
@pytest.mark.parametrize("threads", [2, pytest.param(1, marks=pytest.mark.long)])
def test_the_same_five_ops_take_most(threads: int, tmp_path: Path) -> None:
    theirs, ours, told = in_both(threads, tmp_path)
    top = sorted((name for name in theirs if name in ours), key=lambda name: -theirs[name])[:5]
    fifth = theirs[top[-1]]
    for name in sorted(ours, key=lambda name: -ours[name])[:5]:
        # Two ops that take nearly the same time may change places.
        assert name in top or theirs[name] > 0.7 * fifth, (name, top, dict(theirs), dict(ours))
    assert 0.7 < ours[top[0]] / theirs[top[0]] < 1.4, (dict(theirs), dict(ours))
    assert told.tables["op"][0].name == top[0] == "MatMul"
