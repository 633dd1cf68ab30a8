"""Violations in a trace: told by `why`, `info` and the Python API; with the guard and break points."""

from __future__ import annotations

import io
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from rich.console import Console

import tensorsleuth
from tensorsleuth import ExpectationError, expect
from tensorsleuth.recording.violations import actions
from tensorsleuth.trace.run_summary import summarize
from tensorsleuth.ui.terminal.verdict import verdict

NAN = float("nan")


@pytest.fixture(autouse=True)
def fresh_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process counts violations of each place; other tests break the same places."""
    monkeypatch.setattr(actions, "_times", Counter())


def as_text(shown: Any) -> str:
    out = io.StringIO()
    Console(file=out, width=200, highlight=False).print(shown)
    return out.getvalue()


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
    assert list(found) == ["scores", "compiled scores", "chart"]  # a raised violation comes before recorded ones
    scores = found["scores"]
    assert (scores.cause, scores.file, scores.line) == ("violation", __file__, trace.violations[0].line)
    assert scores.summary.startswith(f"{__file__}:{scores.line} expects values between 0 and 1 of scores")
    (evidence,) = scores.evidence
    assert evidence.health.startswith("1 of 2: ") and evidence.health.endswith("first at [1] 1.5")
    assert evidence.dtype == ""
    assert found["chart"].seen == "32 times at this place; the first is shown"
    assert scores.source and scores.code is not None


@pytest.mark.parametrize("times", [1, 30])  # if a place is broken often, the trace does not have all of them
def test_the_one_that_ended_the_program_comes_first(recorded: Any, monkeypatch: Any, times: int) -> None:
    def end() -> None:
        with pytest.raises(ExpectationError):
            scaled(tf.constant([0.5]))
        for number in range(times):
            with pytest.raises(ExpectationError) as caught:
                expect(np.float32(number), between=(-2, -1), name=f"the last of {times}")
        for name in ("last_value", "last_exc"):  # as Python leaves what nobody caught
            monkeypatch.setattr(sys, name, caught.value, raising=False)

    first, second = tensorsleuth.diagnose(recorded(end))
    assert (first.name, second.name) == (f"the last of {times}", "scores")
    many = "20 times at this place, until it ended the program; the latest in the trace is shown"
    assert first.seen == ("it ended the program" if times == 1 else many)
    assert first.evidence[0].health.endswith(f" {min(times, 20) - 1}")


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


def negative_pixels(weight: Any) -> Any:
    """A step that takes the log of what is not as expected, and logs it."""

    @tf.function
    def step(x: Any, table: str) -> Any:
        x = expect(x, between=(0, 1), name=table, on_violation="record")
        loss = tf.reduce_mean(tf.math.log(1.0 - x))
        tensorsleuth.log("loss is {loss:.1f}", loss=loss)
        weight.assign_sub(loss)
        return loss

    return step


def test_what_was_broken_before_the_first_bad_value_leads_to_it(recorded: Any) -> None:
    weight = tf.Variable(1.0, name="weight")
    step = negative_pixels(weight)

    def run() -> None:
        for top in (0.0, 255.0, 0.0):
            step(tf.constant([0.0, top]), "pixels")

    trace = recorded(run)
    pixels, log = tensorsleuth.diagnose(trace).findings[:2]
    assert (pixels.cause, pixels.name) == ("violation", "pixels") and log.op == "Log"
    assert pixels.chain == (f"pixels (test_expect_recorded.py:{pixels.line}, not as expected)", *log.chain)
    assert len(pixels.hops) == len(pixels.chain) and pixels.hops[0] is None and pixels.hops[1:] == log.hops
    assert pixels.seen is not None and pixels.seen.startswith("before the first bad value, of Log at test_expect_")
    assert pixels.seen.endswith("usually its cause")
    shown = as_text(verdict(tensorsleuth.diagnose(trace)))
    assert "not as expected) → Log (" in shown and "usually its cause" in shown


def test_what_was_broken_later_comes_behind(recorded: Any) -> None:
    weight = tf.Variable(1.0, name="weight")
    step = negative_pixels(weight)

    def run() -> None:
        weight.assign_sub(tf.math.log(tf.constant(-1.0)))
        step(tf.constant([0.5, 7.0]), "later pixels")

    log, *others = tensorsleuth.diagnose(recorded(run)).findings
    assert log.op == "Log" and log.seen is None and "later pixels" in [one.name for one in others]


def test_what_was_logged_stands_beside_the_finding(recorded: Any) -> None:
    step = negative_pixels(tf.Variable(1.0, name="weight"))

    def run() -> None:
        for number, top in enumerate((0.0, 0.0, 0.0, 3.0, 0.0)):
            tensorsleuth.log(f"batch {number}")
            step(tf.constant([0.0, top]), "logged pixels")

    trace = recorded(run)
    pixels, log = tensorsleuth.diagnose(trace).findings[:2]
    assert [one.message for one in pixels.logged] == ["batch 2", "loss is 0.0", "batch 3"], "not what came after it"
    assert [one.message for one in log.logged] == ["loss is 0.0", "batch 3", "loss is nan"], "to the end of the call"
    line = log.logged[-1].line
    assert f"loss is nan (step {log.logged[-1].step}, test_expect_recorded.py:{line})" in as_text(
        verdict(tensorsleuth.diagnose(trace), everything=True)
    )
    told = log.to_json()["logged"][-1]
    assert (told["message"], told["line"], told["file"]) == ("loss is nan", line, __file__)


def test_with_a_guard_and_break_points(capfd: Any) -> None:
    with tensorsleuth.guard(), tensorsleuth.break_when("abs_max > 1e6", then="stop"):
        scaled(tf.constant([0.1]))
        for function in (scaled, compiled):
            with pytest.raises(ExpectationError):
                function(tf.constant([0.5]))
        with pytest.raises((ExpectationError, tensorsleuth.NumericsError)):  # the result of the function is NaN, too
            compiled(tf.constant([NAN]))
    compiled(tf.constant([0.1]))  # nothing is left of it
    assert "break points cannot see inside" in capfd.readouterr().err


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


def test_they_are_alerts_of_the_page(recorded: Any) -> None:
    from tensorsleuth.ui.web.answers import alerts
    from tensorsleuth.ui.web.run.open_run import OpenRun

    trace = recorded(lambda: go_wrong("alert"))
    opened = OpenRun(trace.path)
    answer = alerts.answer(opened, {"kind": "violation"})
    counted = {one["kind"]: one for one in answer["counts"]}
    assert counted["violation"]["count"] == answer["total"] > 0
    assert counted["violation"]["first"] == answer["items"][0]["id"]
    assert answer["items"][0]["type"] in ("Mul", "SleuthExpect")  # what was judged
