"""Sessions of TensorFlow 1."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

v1 = tf.compat.v1
Recorded = Callable[..., Trace]
BATCH = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
KINDS = pytest.mark.parametrize("resource", [True, False], ids=["resource", "reference"])


def finding(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


@contextlib.contextmanager
def session(**settings: Any) -> Iterator[Any]:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph, **settings) as opened:
        yield opened


@contextlib.contextmanager
def control_flow_v1() -> Iterator[None]:
    v1.disable_control_flow_v2()
    try:
        yield
    finally:
        v1.enable_control_flow_v2()
