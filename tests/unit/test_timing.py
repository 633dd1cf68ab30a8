"""When ops ran and what a step's time went into, from rows that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit import little_run
from tests.unit.page_client import ask

from tensorsleuth.analyze.profile.intervals import IntervalUnion
from tensorsleuth.analyze.profile.probe_times import probe_durations
from tensorsleuth.analyze.profile.report import make_profile_report
from tensorsleuth.cli.main import cli
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import SAMPLE_TIME_SHIFT
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.trace.reader import Trace
from tensorsleuth.ui.web.run.errors import BadRequest
from tensorsleuth.ui.web.run.open_run import OpenRun

MILLI = little_run.MILLI
stretches = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return little_run.write(tmp_path / "run", tmp_path / "train.py")


def columns(pairs: list[tuple[int, int]]) -> tuple[Any, Any]:
    return np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)


@given(stretches, stretches, st.integers(0, 60), st.integers(0, 60))
def test_a_cover_counts_each_moment_once(one: Any, other: Any, begin: int, end: int) -> None:
    moments = {t for a, b in [*one, *other] for t in range(a, b)}
    cover = IntervalUnion(*columns(one)) | IntervalUnion(*columns(other))
    begin, end = min(begin, end), max(begin, end)
    (found,) = cover.covered_time(np.array([begin]), np.array([end]))
    assert found == len(moments & set(range(begin, end)))


@given(st.integers(8, (1 << 32) - 1))
def test_how_long_a_look_took_is_known_to_an_eighth(nanoseconds: int) -> None:
    exponent = nanoseconds.bit_length() - 1  # as look_bits in rows.h has it
    code = exponent << 2 | nanoseconds >> (exponent - 2) & 3
    (found,) = probe_durations(np.array([code << SAMPLE_TIME_SHIFT], np.uint32))
    assert abs(found - nanoseconds) <= nanoseconds / 8 + 1


def test_ops_begin_when_their_inputs_are_there_and_their_thread_is_free(path: Path) -> None:
    _, profile = make_profile_report(Trace(path))
    run, ops = profile.op_runs, profile.process_index.op_index.ops
    first = [at for at in range(len(run)) if run.call[at] == 2]
    told = [(ops[run.op[at]].type, int(run.begin[at]) - 11 * MILLI, int(run.end[at]) - 11 * MILLI) for at in first]
    assert told[:3] == [("Mul", -MILLI, 0), ("Softmax", 0, 1000), ("Log", 1000, 2000)]
    assert [kind for kind, _, _ in told[-3:]] == ["AddV2"] * 3


def test_a_look_is_not_the_ops_time(tmp_path: Path) -> None:
    took = 700  # nanoseconds, which the code below rounds to 704
    code = 9 << 2 | took >> 7 & 3
    looked = {
        little_run.PER_STEP + little_run.SOFTMAX: {"flags": little_run.LOOK | 1 << 16 | code << SAMPLE_TIME_SHIFT}
    }
    _, profile = make_profile_report(Trace(little_run.write(tmp_path / "run", tmp_path / "train.py", changes=looked)))
    softmax = next(at for at in range(len(profile.op_runs)) if profile.op_runs.event[at] == little_run.PER_STEP + 1)
    assert profile.op_runs.probe_end[softmax] - profile.op_runs.end[softmax] == 704
    assert profile.op_runs.end[softmax] - profile.op_runs.begin[softmax] == 1000 - 704


def test_a_report_of_known_steps(path: Path) -> None:
    told, _ = make_profile_report(Trace(path))
    assert (told.steps, told.left_out) == (3, 1)
    assert told.wall == 25 * MILLI == sum(told.parts.values())
    assert told.parts["ops"] == 3 * 1_004_000 + 3 * 1002
    assert told.parts["python"] == 10 * MILLI
    assert told.bottleneck.by == "compute"
    assert told.tables["op"][0].name == "train_step (not recorded)"
    assert [line.name for line in told.tables["layer"][:2]] == ["(no layer)", "net/hidden"]
    assert told.to_json()["split"]["python"] == pytest.approx(0.4)


def test_one_step(path: Path) -> None:
    told, _ = make_profile_report(Trace(path), 2)
    assert (told.steps, told.left_out, told.wall) == (1, 0, 10 * MILLI)
    with pytest.raises(SleuthError, match=r"step 9 was not recorded; recorded are steps 0 to 3\. Choose one: --step N"):
        make_profile_report(Trace(path), 9)


@pytest.mark.parametrize(
    ("function", "name"),
    [("__inference_train_step_12", "train_step"), ("__forward_call_3", "call"), ("one_step", "one_step")],
)
def test_functions_by_the_name_that_the_program_has_for_them(function: str, name: str) -> None:
    assert program_name(function) == name


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("by", ["op", "layer", "line"])
def test_it_fits_the_terminal(path: Path, width: int, by: str, monkeypatch: Any) -> None:
    from click.testing import CliRunner

    monkeypatch.setenv("COLUMNS", str(width))
    shown = CliRunner().invoke(cli, ["profile", str(path), "--by", by]).output
    assert shown.lstrip().startswith("Compute-bound: 60 % of each step computes")
    assert max(map(len, shown.splitlines())) <= width
    for words in (
        "waiting for input",
        "Python between calls",
        "recording overhead",
        "ms/step",
        "net/hidden" if by == "layer" else "",
    ):
        assert words in shown


def test_the_flame_chart_of_a_step(path: Path) -> None:
    told = ask(OpenRun(path), "flame", step=1)
    assert (told["step"], told["previous"], told["next"], told["leftOut"]) == (1, 0, 2, 0)
    assert told["lanes"] == [{"name": "Python", "depth": 1}, {"name": "thread 3", "depth": 4}]
    nested = [(bar["depth"], bar["kind"], bar["name"]) for bar in told["bars"][:6]]
    assert nested == [
        *[(0, "call", "train_step"), (0, "function", "train_step"), (1, "layer", "net"), (2, "layer", "hidden")],
        *[(3, "op", "Mul"), (3, "op", "Softmax")],
    ]
    mul = told["bars"][4]
    assert (mul["place"], mul["layer"], mul["tensor"]) == ("train.py:7", "net/hidden", "0.9")
    assert (mul["from"], mul["to"]) == (0.0, 0.001)
    assert sum(part["share"] for part in told["split"]) == pytest.approx(1)
    assert told["slowest"][0] == {"step": 0, "seconds": 0.01, "first": True}


def test_a_step_that_is_not_there(path: Path) -> None:
    assert ask(OpenRun(path), "flame")["step"] == 1  # the usual one
    assert ask(OpenRun(path), "flame", step=3)["next"] is None
    with pytest.raises(BadRequest, match="Step 77 was not recorded"):
        ask(OpenRun(path), "flame", step=77)
