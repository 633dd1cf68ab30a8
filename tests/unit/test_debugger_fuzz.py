"""Whatever stands in a trace: a command of the debugger answers, or refuses with a sentence."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.thorough import examples
from tests.unit.test_trace_fuzz import JSON, changes, frame

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import open_trace
from tensorsleuth.trace.storage import journal, synthetic
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.rendering import render_result

FILES = ("events.bin", "calls.bin", "shapes.bin", "catalog.journal")
LINES = (
    "lt -s max --limit 5",
    "alerts",
    "next",
    "step",
    "ni -a -d -t",
    "li -r -d 3 -c",
    "lo",
    "pt",
    "ls",
    "ps",
    "find log",
)
FUZZ = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "NODES", 40)
        return synthetic.write(tmp_path_factory.mktemp("runs") / "sound", 200, bad=5)


def debugged(run: Path) -> int:
    """How many commands answered."""
    try:
        debugger = Debugger(open_trace(run))
    except SleuthError:
        return 0
    refusals = [refusal for line in LINES if (refusal := refused(debugger, line)) is not None]
    assert all(len(refusal) > 10 and "\n" not in refusal for refusal in refusals)
    return len(LINES) - len(refusals)


def refused(debugger: Debugger, line: str) -> str | None:
    try:
        Console(file=io.StringIO()).print(render_result(debugger.run_line(line)))
    except SleuthError as error:
        return str(error)
    return None


def copied(sound: Path, run: Path) -> Path:
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(sound, run)
    return next(run.glob("p-*"))


def test_a_sound_trace_answers_everything(sound: Path) -> None:
    assert debugged(sound) == len(LINES)


@FUZZ
@given(name=st.sampled_from(FILES), change=changes())
def test_any_change_to_a_file(sound: Path, tmp_path: Path, name: str, change: Callable[[bytearray], None]) -> None:
    path = copied(sound, tmp_path / "run") / name
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    debugged(tmp_path / "run")


@FUZZ
@given(data=st.data())
def test_records_that_hold_anything(sound: Path, tmp_path: Path, data: st.DataObject) -> None:
    path = copied(sound, tmp_path / "run") / "catalog.journal"
    read = journal.read_records(path.read_bytes())
    records: list[list[Any]] = [list(record) for record in read if not isinstance(record, journal.Damage)]
    by_kind = {kind: at for at, (kind, _) in enumerate(records)}
    fields = records[by_kind[data.draw(st.sampled_from(sorted(by_kind)))]][1]
    fields[data.draw(st.sampled_from(sorted(fields)))] = data.draw(JSON)
    path.write_bytes(b"".join(frame(json.dumps(record).encode()) for record in records))
    debugged(tmp_path / "run")
