"""A run that is open: it grows, it is deleted, it has several processes, it failed."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit import little_run
from tests.unit.page_client import ask

from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.violation import Violation
from tensorsleuth.diagnose import report
from tensorsleuth.native.loader import SessionPlan, trace_paths
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import journal, run_folder, synthetic
from tensorsleuth.ui.web.answers.live import change
from tensorsleuth.ui.web.run import open_run as opening
from tensorsleuth.ui.web.run import run_list
from tensorsleuth.ui.web.run.open_run import OpenRun


@pytest.fixture
def little(tmp_path: Path) -> Path:
    return little_run.write(tmp_path / "little", tmp_path / "train.py")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "SECONDS_BETWEEN_READS", 0.0)
    monkeypatch.setattr(opening, "MAX_READING_SHARE", 0)


# ---- growing


@pytest.mark.usefixtures("impatient")
def test_a_run_that_grows(tmp_path: Path, recorder: ctypes.CDLL) -> None:
    folder = tmp_path / "run" / "p-1"
    folder.mkdir(parents=True)
    meta = {"version": 1, "program": ["train.py"], "started": time.time(), "pid": os.getpid(), "ended": None}
    (tmp_path / "run" / run_folder.META_FILE).write_text(json.dumps(meta))
    plan = SessionPlan(*trace_paths(folder), 1, 512, 50, 1, 512, 50, 0)
    assert recorder.sleuth_open(ctypes.byref(plan)) == 0
    recorder.hammer(1, 0, 100, 1 << 40, Mode.FULL_HEALTH, 5)
    opened = OpenRun(tmp_path / "run")
    first = change(opened)
    assert (first["cursor"], first["tensors"], first["bad"], first["lastStep"]) == (1, 100, 0, None)
    assert first["live"] and first["status"] == "running"
    assert not opened.refresh() and opened.cursor == 1, "nothing was written since"
    recorder.hammer(1, 100, 50, 120, Mode.FULL_HEALTH, 5)
    assert opened.refresh()
    second = change(opened)
    assert (second["cursor"], second["tensors"], second["bad"]) == (2, 150, 1)
    assert ask(opened, "alerts")["total"] == 1 and ask(opened, "tensors", begin=149)["total"] == 150
    recorder.sleuth_close()


def test_a_run_is_read_again_after_a_while_only(little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("tensorsleuth.ui.web.run.open_run.time.monotonic", lambda: now[0])
    opened = OpenRun(little)
    (little / "p-1700000000000000000-77" / "debug.json").write_text("{}")
    assert not opened.refresh()
    now[0] += opening.SECONDS_BETWEEN_READS + 0.1
    assert opened.refresh() and not opened.refresh()


def test_reading_takes_a_part_of_the_time_only(little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("tensorsleuth.ui.web.run.open_run.time.monotonic", lambda: now[0])
    opened = OpenRun(little)
    opened._cost = 1.0
    (little / "p-1700000000000000000-77" / "debug.json").write_text("{}")
    now[0] += 9.0
    assert not opened.refresh()
    now[0] += 1.1
    assert opened.refresh()


def test_the_verdict_does_not_wait_for_the_columns_of_all_tensors(little: Path) -> None:
    opened = OpenRun(little)
    assert ask(opened, "verdict")["findings"] and "table" not in vars(opened)


@pytest.mark.usefixtures("impatient")
def test_the_verdict_is_found_again_only_where_it_may_differ(little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Trace] = []

    def diagnose(trace: Trace) -> Diagnosis:
        asked.append(trace)
        return report.diagnose(trace)

    monkeypatch.setattr(opening, "diagnose", diagnose)
    opened = OpenRun(little)
    ask(opened, "verdict")
    (little / "p-1700000000000000000-77" / "debug.json").write_text("{}")
    assert opened.refresh()
    ask(opened, "verdict")
    assert len(asked) == 1


@pytest.mark.usefixtures("impatient")
def test_a_run_that_is_deleted(little: Path) -> None:
    opened = OpenRun(little)
    ask(opened, "tensors")
    shutil.rmtree(little)
    opened.refresh()
    assert ask(opened, "")["tensors"] == 0 and ask(opened, "verdict")["verdict"] == "unknown"
    assert ask(opened, "timeline")["lanes"] == [] and ask(opened, "alerts")["counts"] == []


# ---- several processes


def test_processes_are_told_in_the_order_of_time(tmp_path: Path) -> None:
    run = little_run.write(tmp_path / "one", tmp_path / "train.py")
    other = little_run.write(tmp_path / "two", tmp_path / "train.py")
    (second,) = other.glob("p-*")
    second = second.rename(run / "p-1700000000000000001-78")
    catalog = journal.Journal(second / "catalog.journal", 1 << 20)
    catalog.append("meta", {"pid": 78, "task": {"type": "worker", "index": 1, "of": 2}})
    catalog.close()
    opened = OpenRun(run)
    assert ask(opened, "")["tensors"] == 72 and len(ask(opened, "")["processes"]) == 2
    rows = ask(opened, "tensors", end=4)["items"]
    assert [row["id"] for row in rows] == ["0.0", "1.0", "0.1", "1.1"]
    largest = ask(opened, "tensors", op="Mul", sort="max", descending="true", end=2)["items"]
    assert [row["id"] for row in largest] == ["0.27", "1.27"]
    assert ask(opened, "next", id="0.20")["id"] == "1.20" and ask(opened, "next", id="1.20")["id"] == "0.21"
    names = [lane["name"] for lane in ask(opened, "timeline")["lanes"]]
    assert names == ["process 77, CPU:0", "process 77, thread 1", "worker 1 of 2, CPU:0", "worker 1 of 2, thread 1"]
    assert {finding["tensor"] for finding in ask(opened, "verdict")["findings"]} <= {"0.20", "1.20"}
    assert ask(opened, "tensors/1.20")["inputs"][0]["id"] == "1.19"
    assert ask(opened, "tensors/1.20/history")["ids"] == ["1.2", "1.11", "1.20", "1.29"]
    assert ask(opened, "graph", id="0.20", op="1.4")["focus"] == "1.4"


# ---- a call that raised


def test_errors_are_alerts(little: Path) -> None:
    (folder,) = little.glob("p-*")
    catalog = journal.Journal(folder / "catalog.journal", 1 << 20)
    catalog.append("failure", {"call": 4, "op": 1, "type": "InvalidArgumentError", "message": "no", "inputs": []})
    catalog.append("failure", {"call": 900, "op": 1, "type": "InvalidArgumentError", "message": "no", "inputs": []})
    catalog.close()
    alerts = ask(OpenRun(little), "alerts", kind="error")
    assert alerts["counts"][-1] == {"kind": "error", "count": 1, "first": "0.35"} and alerts["total"] == 1


def test_an_error_without_a_tensor_of_its_own_shows_the_last_of_its_line(little: Path) -> None:
    add(little, "failure", {"call": 900, "op": 1, "type": "InvalidArgumentError", "message": "no", "inputs": []})
    alerts = ask(OpenRun(little), "alerts", kind="error")
    assert alerts["counts"][-1] == {"kind": "error", "count": 1, "first": "0.35"}


# ---- rules that were broken


def add(run: Path, kind: str, *records: dict[str, object]) -> None:
    (folder,) = run.glob("p-*")
    catalog = journal.Journal(folder / "catalog.journal", 1 << 20)
    for fields in records:
        catalog.append(kind, fields)
    catalog.close()


def broken(tmp_path: Path, name: str, clock: int, times: int, line: int = 7) -> dict[str, object]:
    """Recorded as `expect` does."""
    file = str(tmp_path / "train.py")
    first = {"broken": 2, "total": 6, "positions": ((0, 1),), "values": (4.0,)}
    one = Violation("between", name, "values between 0 and 1", "up to 4", **first, file=file, line=line, code="x * x")  # type: ignore[arg-type]
    return replace(one, clock=clock, times=times, step=0, change="scale it").to_json()


def test_a_broken_rule_is_told_in_its_own_words(tmp_path: Path, little: Path) -> None:
    at = 1_000_000
    softmax = broken(tmp_path, "scores", at + 1500, 1)
    add(little, "violation", softmax, broken(tmp_path, "x", at + 9500, 1), broken(tmp_path, "scores", 4 * at * 10, 30))
    opened = OpenRun(little)
    first, second = ask(opened, "alerts")["violations"]
    assert first["sentence"] == "scores: expected values between 0 and 1, found 2 of 6: up to 4; first at [0, 1] 4, …"
    assert (first["tensor"], first["times"], first["line"], first["code"]) == ("0.1", 30, "train.py:7", "x * x")
    assert first["place"]["line"] == 7 and first["change"] == "scale it"
    assert (second["name"], second["tensor"]) == ("x", "0.1"), "the last that its line had computed by then"
    shown = ask(opened, "tensors/0.1")["violations"]
    assert [one["name"] for one in shown] == ["scores", "x"] and ask(opened, "tensors/0.2")["violations"] == []
    findings = [one for one in ask(opened, "verdict")["findings"] if one["cause"] == "violation"]
    assert [one["tensor"] for one in findings] == ["0.1"]  # one of each line


def test_a_rule_broken_before_anything_was_computed(tmp_path: Path, little: Path) -> None:
    add(little, "violation", broken(tmp_path, "x", 1, 1))
    (told,) = ask(OpenRun(little), "alerts")["violations"]
    assert told["tensor"] is None and told["sentence"].startswith("x: expected")


# ---- the list of runs


@pytest.mark.parametrize(("values", "mode"), [(True, "FULL_TENSOR"), (False, "FULL_NUMERICS")])
def test_a_run_says_how_closely_it_looked(tmp_path: Path, values: bool, mode: str) -> None:
    little_run.write(tmp_path / "runs" / "one", tmp_path / "train.py", values)
    assert [run["mode"] for run in run_list.list_runs(tmp_path / "runs", {})["items"]] == [mode]


def test_the_list_of_runs(tmp_path: Path, little: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synthetic.write(tmp_path / "long", 3000, 2)
    page = run_list.list_runs(tmp_path, {})
    assert [(run["name"], run["tensors"], run["bad"], run["steps"]) for run in page["items"]] == [
        ("little", 36, 10, 4), ("long", 3000, 2, 3),
    ]  # fmt: skip
    assert page["items"][0] == {name: ask(OpenRun(little), "")[name] for name in page["items"][0]}
    monkeypatch.setattr(run_list, "summarize", lambda run: pytest.fail("counted before"))
    assert run_list.list_runs(tmp_path, {"begin": "1"})["items"] == page["items"][1:]
    assert run_list.list_runs(tmp_path / "absent", {}) == {"begin": 0, "end": 0, "total": 0, "items": []}
