"""Break points beside recordings and guards, wrong use, and the examples of the documentation."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from bench import models
from tests.compat.breakable import grow, logarithm, nothing
from tests.compat.looking import bits

import tensorsleuth
from tensorsleuth.core.errors import NumericsError, SleuthError
from tensorsleuth.live.breakpoints import api as breaking

pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")


def test_the_same_bits_where_nothing_holds() -> None:
    name = "cnn" if "cnn" in models.MODELS else next(iter(models.MODELS))
    tf.keras.backend.clear_session()
    bare = models.digest(*models.train(name, 3))
    tf.keras.backend.clear_session()
    with (
        tensorsleuth.break_when("nan > 0 or norm > 1e30", then="stop"),
        tensorsleuth.break_when("grad_norm > 1e30", then="stop"),
        tensorsleuth.break_when("change > 1e30", then="stop"),
        tensorsleuth.break_when(lambda op, value: False, on="op:MatMul", then="stop"),
    ):
        assert models.digest(*models.train(name, 3)) == bare


def test_nothing_is_left_in_tensorflow() -> None:
    before = bits(grow(tf.constant([1.0]), 3))
    with tensorsleuth.break_when("max > 1e30", then="stop"):
        assert bits(grow(tf.constant([1.0]), 3)) == before
    assert bits(grow(tf.constant([1.0]), 3)) == before


def test_with_a_recording(tmp_path: Path) -> None:
    bad = tf.constant([0.0, 1.0])
    with tensorsleuth.break_when("bad", on="op:Log", then=nothing) as point:
        logarithm(bad)
        with tensorsleuth.record(tmp_path) as recording:
            logarithm(bad)
        logarithm(bad)
    assert len(point.hits) == 3
    assert recording.path is not None and len(tensorsleuth.open(recording.path).tensors(op="Log")) == 1
    with tensorsleuth.record(tmp_path, mode="NO_TENSOR") as recording:
        logarithm(bad)
        with tensorsleuth.break_when("bad", on="op:Log", then=nothing) as point:
            logarithm(bad)
        logarithm(bad)
    assert len(point.hits) == 1 and recording.path is not None
    assert [event.bad for event in tensorsleuth.open(recording.path).tensors(op="Log")] == [False, True, False]


def test_with_the_guard() -> None:
    bad = tf.constant([0.0, 1.0])
    with tensorsleuth.break_when("bad", on="op:Log", then=nothing) as point:
        with tensorsleuth.guard(), pytest.raises(NumericsError):
            logarithm(bad)
        logarithm(bad)
    assert len(point.hits) == 2
    with tensorsleuth.guard():
        with tensorsleuth.break_when("max > 0", on="op:Mul", then=nothing) as point:
            grow(tf.constant([1.0]), 2)
        with pytest.raises(NumericsError):
            logarithm(bad)
    assert len(point.hits) == 2


def test_a_strict_guard_is_not_stricter_for_it() -> None:
    masked = tf.function(
        lambda x: tf.reduce_sum(tf.where(x > 0.0, tf.maximum(x, float("-inf")), float("-inf")) * 0.0 + 1.0)
    )
    x = tf.constant([1.0, 2.0])
    with tensorsleuth.guard(strict=True):
        expected = bits(masked(x))
        with tensorsleuth.break_when("max > 1e30", on="op:.*", then=nothing):
            assert bits(masked(x)) == expected


def test_wrong_arguments_are_said() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"condition": "nann > 0"}, "Did you mean 'nan'"),
        ({"condition": "bad", "on": "lyer:x"}, "Did you mean 'layer'"),
        ({"condition": "bad", "on": "("}, "not a regular expression"),
        ({"condition": "bad", "on": 3}, "it must be one or more strings"),
        ({"condition": "bad", "then": "explode"}, "pause, stop, record, save"),
        ({"condition": "bad", "then": "record:0"}, "record:N"),
        ({"condition": "bad", "times": 0}, "integer"),
        ({"condition": "grad_norm > 1", "on": "op:MatMul"}, "norm of gradients"),
        ({"condition": 3}, "not a condition"),
    ]
    for arguments, says in wrong:
        with pytest.raises(SleuthError, match=says):
            tensorsleuth.break_when(**arguments)
    assert breaking._breaks is None or not breaking._breaks._all


def test_the_examples_of_the_documentation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "breakpoints.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 3
    program = tmp_path / "example.py"
    program.write_text("\n".join(blocks))
    monkeypatch.setenv("SLEUTH_PAUSE_TIMEOUT", "0.2")
    runpy.run_path(str(program))
    said = capfd.readouterr()
    assert said.err.count("paused:") == 1 and "grad_norm > 100 holds for" in said.err
    assert "abs_max > 40 holds for encoder/MatMul:0" in said.out
    for point in list(breaking._breaks._all.values()):
        breaking._remove(point)
