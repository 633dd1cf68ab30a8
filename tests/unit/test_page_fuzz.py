"""Whatever stands in the files of a run: each question gets an answer that JSON can hold, or is refused in words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thorough import examples
from tests.unit import little_run
from tests.unit import test_trace_fuzz as damage

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import EVENT
from tensorsleuth.trace.storage import journal
from tensorsleuth.ui.web.answers import QUESTIONS
from tensorsleuth.ui.web.answers.live import change
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.run_list import list_runs

sound, run = damage.sound, damage.run  # fixtures
FUZZ = settings(damage.FUZZ, max_examples=examples(15))  # each asks some hundred questions
SLOWEST = 10.0  # seconds of this process
SORTS = ("order", "step", "name", "elements", "nan", "inf", "min", "mean")


def asked(opened: OpenRun) -> Iterator[tuple[str, dict[str, str]]]:
    """Each path, with parameters that reach far into a run."""
    table = opened.table
    places = {0, len(table) // 2, len(table) - 1, *table.bad[:2].tolist()} if len(table) else set()
    found = [table.id(place) for place in sorted(places)]
    for id in [*found, "0.0", "7.7"]:
        for path in ("tensors/{id}", "tensors/{id}/history", "tensors/{id}/value", "graph", "next", "tensors/at"):
            yield path, {"id": id}
        yield "graph", {"id": id, "open": "f0.2", "close": "f0.1", "up": "8", "down": "8"}
        yield "sources/{file}", {"file": "0", "at": id}
    for sort in SORTS:
        yield "tensors", {"sort": sort, "descending": "true", "end": "5"}
    for health in ("bad", "nan", "inf", "zero", "healthy"):
        yield "tensors", {"health": health, "begin": "2", "end": "5"}
    yield "tensors", {"name": "Log:0", "layer": "layer", "from": "0", "to": "9", "file": "0", "line": "3"}
    yield "timeline", {"from": "0.00001", "to": "0.001", "bins": "7"}
    yield "flame", {"step": "2"}
    yield "memory", {"near": "0.001", "points": "5"}
    yield "memory/at", {"at": "0.001", "by": "line"}
    yield "compare", {"with": opened.name}
    for op in [*opened.table.ops[:2], *opened.table.ops[-1:]]:
        yield "scalars/{op}", {"op": f"{op.process}.{op.first_tensor}"}
    for series in ("0.1", "1.1", "9.9"):
        yield "watched/{series}", {"series": series}
    for attention in ("0.1", "9.9"):
        for what in ("heads", "thumbs", "weights"):
            yield f"attention/{{attention}}/{what}", {"attention": attention}
        yield "layers/at", {"id": attention}
    yield from ((path, {"file": "0"}) for path in ("watched", "logs", "inside", "attention", "layers"))
    yield from (
        (path, {"file": "0"}) for path in ("", "verdict", "alerts", "timeline", "flame", "scalars", "sources/{file}")
    )


def survives(run: Path) -> int:
    """How many questions were answered; the others were refused in a sentence."""
    began, answered, refusals = time.process_time(), 0, list[str]()
    answers = {question.path: question.answer for question in QUESTIONS}
    opened = OpenRun(run)
    json.dumps([change(opened), list_runs(run.parent, {})], allow_nan=False)
    for path, parameters in asked(opened):
        try:
            json.dumps(answers[path](opened, parameters), allow_nan=False)
            answered += 1
        except SleuthError as error:
            refusals.append(str(error))
    assert all(len(said) > 15 and "\n" not in said for said in refusals)
    assert time.process_time() - began < SLOWEST
    return answered


def test_every_question_is_asked(sound: Path) -> None:
    opened = OpenRun(sound)
    assert {path for path, _ in asked(opened)} == {question.path for question in QUESTIONS}
    assert survives(sound) > 50


@FUZZ
@given(
    name=st.sampled_from(damage.FILES),
    some=st.lists(damage.changes(), min_size=1, max_size=3),
    process=st.sampled_from(["p-1", "p-2"]),
)
def test_files_that_are_damaged(
    sound: Path,
    run: Path,
    name: str,
    some: list[Callable[[bytearray], None]],
    process: str,
) -> None:
    damage.fresh(sound, run)
    path = run / process / name
    data = bytearray(path.read_bytes() if path.exists() else b"")
    for one in some:
        one(data)
    path.write_bytes(data)
    survives(run)


@FUZZ
@given(data=st.data())
def test_catalogues_that_hold_anything(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("little")
    run = little_run.write(folder / "run", folder / "train.py", values=True)
    (path,) = run.glob("p-*/catalog.journal")
    records: list[list[Any]] = [
        list(record) for record in journal.read_records(path.read_bytes()) if not isinstance(record, journal.Damage)
    ]
    for _ in range(data.draw(st.integers(1, 4))):
        fields: Any = data.draw(st.sampled_from(records))[1]
        while True:
            key = data.draw(st.sampled_from(sorted(fields) if isinstance(fields, dict) else list(range(len(fields)))))
            inner = fields[key]
            if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
                break
            fields = inner
        fields[key] = data.draw(damage.JSON | st.integers(-3, 12))
    path.write_bytes(b"".join(damage.frame(json.dumps(record).encode()) for record in records))
    survives(run)


@FUZZ
@given(data=st.data())
def test_rows_that_hold_anything(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("little")
    numbers = st.sampled_from([0, 1, 2, 7, 255, 1 << 15, (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1, 1 << 63])
    floats = st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0, 1e308, -1e308, 5e-324])
    changed: dict[int, dict[str, Any]] = {}
    for _ in range(data.draw(st.integers(1, 12))):
        name = data.draw(st.sampled_from(EVENT.names or ()))
        kind = EVENT[name]
        largest = np.iinfo(kind).max if kind.kind == "u" else 0
        value = data.draw(floats) if kind.kind == "f" else min(data.draw(numbers), int(largest))
        changed.setdefault(data.draw(st.integers(0, 35)), {})[name] = value
    survives(little_run.write(folder / "run", folder / "train.py", values=True, changes=changed))


def test_nothing_in_the_files_at_all(tmp_path: Path) -> None:
    (tmp_path / "run" / "p-1").mkdir(parents=True)
    assert survives(tmp_path / "run") >= 8
    (tmp_path / "bare").mkdir()
    assert survives(tmp_path / "bare") >= 8


@pytest.mark.parametrize("which", [0, 1])
def test_a_function_that_returns_nothing(tmp_path: Path, which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = little_run.write(tmp_path / "run", tmp_path / "train.py")
    (path,) = run.glob("p-*/catalog.journal")
    records = [
        list(record) for record in journal.read_records(path.read_bytes()) if not isinstance(record, journal.Damage)
    ]
    functions: list[Any] = [fields for kind, fields in records if kind == "function"]
    functions[which]["returns"] = []
    path.write_bytes(b"".join(damage.frame(json.dumps(record).encode()) for record in records))
    monkeypatch.setenv("SLEUTH_DEBUG", "1")  # a contradiction is then raised unchanged
    assert survives(run) > 50
