"""Violations in a trace: told by `why`, `info` and the Python API; with the guard and break points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth import ExpectationError, expect
from tensorsleuth.trace.runs import summarize

NAN = float("nan")


@tf.function
def scaled(x: Any) -> Any:
    return expect(x * 3, between=(0, 1), name="scores") + 1


@tf.function(jit_compile=True)
def compiled(x: Any) -> Any:
    return expect(x * 3, between=(0, 1), name="compiled scores") + 1


def go_wrong(table: str) -> None:
    scaled(tf.constant([0.1, 0.2]))
    for function in (scaled, compiled):
        with pytest.raises(ExpectationError):
            function(tf.constant([0.1, 0.5]))
    for _ in range(40):
        expect(np.zeros([2, 3]), rank=1, name=table, on_violation="record")


def test_they_are_in_the_trace(recorded: Any) -> None:
    trace = recorded(lambda: go_wrong("table"))
    assert [one.name for one in trace.violations[:3]] == ["scores", "compiled scores", "table"]
    first = trace.violations[0]
    assert (
        first.sentence
        == "scores: expected values between 0 and 1, found 1 of 2: values from 0.3 to 1.5; first at [1] 1.5"
    )
    assert first.file == __file__ and first.code == 'return expect(x * 3, between=(0, 1), name="scores") + 1'
    assert [one.times for one in trace.violations if one.name == "table"] == [*range(1, 21), 32]  # then only some
    assert summarize(trace.path).violations == 34


def test_they_are_findings(recorded: Any) -> None:
    trace = recorded(lambda: go_wrong("chart"))
    found = {one.name: one for one in tensorsleuth.diagnose(trace)}
    assert list(found) == ["scores", "compiled scores", "chart"]  # what raised comes before what was only recorded
    scores = found["scores"]
    assert (scores.cause, scores.file, scores.line) == ("violation", __file__, trace.violations[0].line)
    assert scores.summary.startswith(f"{__file__}:{scores.line} expects values between 0 and 1 of scores")
    assert scores.evidence[0].dtype == "1 of 2" and scores.evidence[0].health.endswith("first at [1] 1.5")
    assert found["chart"].seen == "32 times at this place; the first is shown"
    assert scores.source and scores.code is not None


def test_the_birth_of_a_nan_comes_before_the_expectation_that_saw_it(recorded: Any) -> None:
    @tf.function
    def logarithm(x: Any) -> Any:
        return expect(tf.math.log(x) * x, finite=True, name="loss")

    def run() -> None:
        with pytest.raises(ExpectationError):
            logarithm(tf.constant([1.0, 0.0]))
        print(tf.math.log(tf.constant([0.0])).numpy())

    causes = [one.cause for one in tensorsleuth.diagnose(recorded(run))]
    assert "violation" in causes and causes[0] != "tensorflow-error"


def test_with_a_guard_and_break_points(capfd: Any) -> None:
    with tensorsleuth.guard(), tensorsleuth.break_when("abs_max > 1e6", then="stop"):
        scaled(tf.constant([0.1]))
        for function in (scaled, compiled):
            with pytest.raises(ExpectationError):
                function(tf.constant([0.5]))
        with pytest.raises((ExpectationError, tensorsleuth.NumericsError)):  # what the function returns is NaN, too
            compiled(tf.constant([NAN]))
    compiled(tf.constant([0.1]))  # nothing is left of it
    assert "break points do not see the inside" in capfd.readouterr().err


def test_recorded_and_bare_say_the_same(recorded: Any) -> None:
    def said() -> list[str]:
        texts = []
        for function in (scaled, compiled):
            with pytest.raises(ExpectationError) as caught:
                function(tf.constant([0.5]))
            texts.append(str(caught.value))
        return texts

    bare, watched = said(), []
    recorded(lambda: watched.extend(said()))
    assert bare == watched
