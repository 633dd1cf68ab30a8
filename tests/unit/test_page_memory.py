"""What the page is told about memory: from rows that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit import little_run
from tests.unit.page_client import ask
from tests.unit.test_memory_cli import MB, with_memory

from tensorsleuth.analyze.memory.account import MemoryAccount
from tensorsleuth.analyze.memory.buffer_rows import rows_around
from tensorsleuth.core.layout.rows import BufferKind
from tensorsleuth.ui.web.answers.memory import memory
from tensorsleuth.ui.web.run.errors import BadRequest
from tensorsleuth.ui.web.run.open_run import OpenRun

EAGER, FREED = BufferKind.EAGER, BufferKind.FREED
MADE = [(1, EAGER, 1 << 20, 100 * MB, 1), (2, EAGER, 1 << 30, 50 * MB, 2), (3, FREED, 1 << 20, 100 * MB, 1)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return little_run.write(tmp_path / "run", tmp_path / "program.py")


@pytest.fixture
def opened(run: Path) -> OpenRun:
    """Sampled at seconds 1 to 5; a tensor of 100 MB from 1 to 3, one of 50 MB from 2 on."""
    return OpenRun(with_memory(run, [500 * MB, 700 * MB, 900 * MB, 800 * MB, 600 * MB], MADE))


def in_tensors(told: Any) -> list[int | None]:
    columns = [kind["bytes"] for kind in told["kinds"]]
    return [None if None in sizes else sum(sizes) for sizes in zip(*columns, strict=True)]


def test_the_curve_and_the_tensors_in_it(opened: OpenRun) -> None:
    told = ask(opened, "memory")
    assert told["resident"] == [500 * MB, 700 * MB, 900 * MB, 800 * MB, 600 * MB]
    assert in_tensors(told) == [0, 100 * MB, 150 * MB, 50 * MB, 50 * MB]
    assert [round(at - told["seconds"][0]) for at in told["seconds"]] == [0, 1, 2, 3, 4]
    assert (told["start"], told["peak"], told["part"], told["lost"]) == (500 * MB, 900 * MB, None, 0)
    assert told["at"] == told["seconds"][2]
    assert told["steps"] == [None, 0, 1, 2, 3]
    assert [mark["name"] for mark in told["marks"]] == ["step 0", "step 1", "step 2", "step 3"]


def test_few_points_are_the_fullest(opened: OpenRun) -> None:
    assert ask(opened, "memory", points=3)["resident"] == [500 * MB, 900 * MB, 600 * MB]


def test_a_moment_opened_up(opened: OpenRun) -> None:
    told = ask(opened, "memory/at")
    assert told["peak"] and told["known"] and told["resident"] == 900 * MB
    assert told["growth"]["bytes"] == 400 * MB
    assert (told["total"], told["bytes"]) == (2, 150 * MB)
    assert [one["bytes"] for one in told["tensors"]] == [100 * MB, 50 * MB]
    assert [round(one["age"]) for one in told["tensors"]] == [2, 1]
    later = ask(opened, "memory/at", at=told["seconds"] + 1.5, by="dtype")
    assert not later["peak"] and later["by"] == "dtype"
    assert [(one["name"], one["bytes"], one["count"]) for one in later["groups"]] == [("float32", 50 * MB, 1)]


def test_the_moment_adds_up_to_what_the_command_says(opened: OpenRun) -> None:
    account = MemoryAccount(opened.table.process_indexes[0])
    parts, told = account.growth_parts(account.peak), ask(opened, "memory/at")["growth"]
    assert (told["tensors"], told["kept"], told["own"], told["rest"]) == (
        parts.tensors,
        parts.kept,
        parts.own,
        parts.rest,
    )


def test_where_there_are_too_many_rows_a_part_is_looked_at_and_said(
    opened: OpenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MAX_BUFFER_ROWS", 2)
    told = ask(opened, "memory")
    assert (told["part"]["rows"], told["part"]["of"]) == (2, 3)
    assert None in in_tensors(told) and any(size is not None for size in in_tensors(told))
    begin, known = told["seconds"][0], [size is not None for size in in_tensors(told)]
    for at, there in enumerate(known):
        assert ask(opened, "memory/at", near=begin, at=begin + at)["known"] == (at in (1,))
        assert told["part"]["from"] <= told["seconds"][at] <= told["part"]["to"] or not there


def test_near_moments_have_the_same_part(opened: OpenRun) -> None:
    process = opened.trace.processes[0]
    assert rows_around(process, 0, 100).whole
    assert rows_around(process, 0, 2) == (0, 2, 3)
    assert rows_around(process, 1 << 62, 2) == (1, 3, 3)


def test_a_run_that_was_not_sampled(run: Path) -> None:
    told = ask(OpenRun(run), "memory")
    assert told["process"] is None and told["seconds"] == []
    with pytest.raises(BadRequest, match="has no samples of its memory"):
        ask(OpenRun(run), "memory/at")


@pytest.mark.parametrize("asked", [{"by": "colour"}, {"process": 7}, {"at": "nan"}, {"at": "soon"}])
def test_questions_that_make_no_sense(opened: OpenRun, asked: dict[str, object]) -> None:
    with pytest.raises(BadRequest):
        ask(opened, "memory/at", **asked)
