"""Losses and weights are bit for bit those of the bare program, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from bench import models

import tensorsleuth
from tensorsleuth.core.modes import Mode

# Keras 2 on Python 3.11
pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")

STEPS = 4
BETWEEN = ("SHAPE", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_NUMERICS")  # modes that read less than one of the others


def each_mode() -> Iterator[Any]:
    """Yield every model with every mode; all but the smallest have the modes in between only in `make test-all`."""
    for name in models.MODELS:
        for mode in Mode:
            rarely = name != "mlp" and mode.name in BETWEEN
            yield pytest.param(name, mode.name, marks=pytest.mark.long if rarely else ())


def train(name: str) -> str:
    tf.keras.backend.clear_session()
    return models.digest(*models.train(name, STEPS))


@cache
def bare(name: str) -> str:
    return train(name)


@pytest.mark.parametrize("name", models.MODELS)
def test_training_twice_is_the_same(name: str) -> None:
    """Else the tests below would say nothing."""
    assert train(name) == bare(name)


@pytest.mark.parametrize(("name", "mode"), list(each_mode()))
def test_watched_is_the_same(name: str, mode: str, tmp_path: Path) -> None:
    expected = bare(name)
    with tensorsleuth.record(tmp_path, mode=mode) as recording:
        watched = train(name)
    assert watched == expected
    assert recording.path is not None
    trace = tensorsleuth.open(recording.path)
    assert len(trace.events) > (30 if mode != "FLIGHT" else 5) * STEPS
    assert trace.not_covered == []
    assert trace.processes[0].catalogue.meta["steps"] == STEPS


@pytest.mark.parametrize("name", models.MODELS)
def test_guarded_is_the_same(name: str) -> None:
    expected = bare(name)
    with tensorsleuth.guard():
        assert train(name) == expected
