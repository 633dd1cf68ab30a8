"""One small program, and its rows as they are recorded on the host, on the device and from Python."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.reader import Trace

COUNTS = ("neg_inf", "pos_inf", "nan", "neg", "zero", "pos")
SAID = EventFlag.BAD | EventFlag.LOOKED | EventFlag.COUNTED | EventFlag.RANGED | EventFlag.MOMENTS
HALF_TO_DOUBLE = (1, 2, 14, 19)
Rows = dict[tuple[str, str], list[tuple[Any, ...]]]

weights = tf.Variable([[1.0, 2.0], [3.0, 4.0]])


@tf.function
def logarithm(x):
    return tf.math.log(x) * 2.0


@tf.function
def branchy(x, times):
    for _ in tf.range(times):
        x = x * 0.5 - 1.0
        y = logarithm(x) if tf.reduce_sum(x) < 0.0 else tf.exp(x)
    small = tf.cast(x, tf.bfloat16) * tf.cast(3.3, tf.bfloat16)
    return y, small, tf.complex(x, y) * 2.0, x[:0] / 2.0


@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(tf.matmul(x, weights)))
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


def program() -> list[Any]:
    """Loops, branches, nested functions, training, eager ops, a dataset, an error; several dtypes; NaN and infinity."""
    weights.assign([[1.0, 2.0], [3.0, 4.0]])
    x = tf.constant([[1.0, -2.0], [9.0, 0.5]])
    results = [*branchy(x, 3), *branchy(x * 2.0, 1), train(x), train(x)]
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.sqrt(tf.cast(weights, tf.float16) - 3.0))
    results += [total, tape.gradient(total, weights)]
    results += list(tf.data.Dataset.range(3).map(lambda n: tf.cast(n, tf.float32) / 0.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Matrix size-incompatible"):
        tf.matmul(x, tf.zeros([3, 3]))
    return [(result.dtype.name, result.numpy().tobytes()) for result in results]


def record(folder: Path, probe: str, mode: str = "FULL_NUMERICS") -> Trace:
    """Record the program; what it computes must be what it computes bare."""
    bare = program()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLEUTH_PROBE", probe)
        with tensorsleuth.record(folder / probe, mode) as recording:
            assert program() == bare
    assert recording.path is not None
    trace = tensorsleuth.open(recording.path)
    assert trace.trouble == []
    assert trace.processes[0].catalogue.meta["probe"] == probe
    return trace


def rows_by_name(trace: Trace) -> Rows:
    """What each tensor's rows say of its health, in an order of their own."""
    (process,) = trace.processes
    found: Rows = {}
    for row in trace.events:
        tensor = process.tensor(row["tensor"])
        assert tensor is not None
        owner = _plain(tensor.function.name) if tensor.function else "eager"
        found.setdefault((owner, _plain(tensor.name)), []).append(_health(process, row))
    return {key: sorted(rows, key=repr) for key, rows in found.items()}


def _plain(name: str) -> str:
    """A dataset's function is traced anew each time, and counted."""
    return re.sub(r"(__inference_\w+?)_\d+", r"\1", name)


def _health(process: ProcessTrace, row: Any) -> tuple[Any, ...]:
    counts = tuple(int(row[name]) for name in COUNTS)
    ends = tuple("none" if math.isnan(row[name]) else float(row[name]) for name in ("min", "max"))
    first_bad = int(row["first_bad"]) if row["flags"] & EventFlag.BAD else -1
    said = int(row["flags"]) & SAID
    moments = tuple(float(np.float32(row[name])) for name in ("mean", "std"))
    return int(row["dtype"]), process.shape_of(row), said, counts, ends, first_bad, moments


def assert_same_health(ours: Rows, host: Rows, name: tuple[str, str]) -> None:
    assert len(ours[name]) == len(host[name]), name
    for mine, theirs in zip(ours[name], host[name], strict=True):
        assert mine[:-1] == theirs[:-1], name
        assert mine[-1] == pytest.approx(theirs[-1], rel=1e-5, abs=1e-6, nan_ok=True), name
