"""`sleuth run` notices that nothing happens; and not where something does, or where somebody is asked."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorsleuth.cli.program.hang import HangWatch
from tensorsleuth.core.layout.ring_header import HEADER, MAGIC
from tensorsleuth.trace.storage import run_folder

AFTER = 0.04  # seconds


@pytest.fixture
def program() -> Iterator[int]:
    """A process that waits."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.communicate()


def write_rows(folder: Path, rows: int, closed: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    for name in ("events.bin", "calls.bin"):
        (folder / name).write_bytes(HEADER.pack(MAGIC, 1, 104, 1, 1, 4096, 1, 0, rows, 0, 0, 0, 0, closed))


def looks(hang: HangWatch, number: int = 20) -> None:
    for _ in range(number):
        time.sleep(AFTER / 4)
        hang.poll()


def test_nothing_happens(tmp_path: Path, program: int, capfd: pytest.CaptureFixture[str]) -> None:
    write_rows(tmp_path / "p-1-2", 5)
    looks(HangWatch(tmp_path, program, AFTER), 40)
    assert (tmp_path / run_folder.HANG_FILE).exists()
    assert capfd.readouterr().err.count("nothing has happened") == 1


def test_rows_are_written(tmp_path: Path, program: int) -> None:
    hang = HangWatch(tmp_path, program, AFTER)
    for rows in range(20):
        write_rows(tmp_path / "p-1-2", rows)
        looks(hang, 1)
    assert not (tmp_path / run_folder.HANG_FILE).exists()


@pytest.mark.parametrize("closed", [0, 1])
def test_paused_or_over(tmp_path: Path, program: int, closed: int) -> None:
    write_rows(tmp_path / "p-1-2", 5, closed)
    if not closed:
        (tmp_path / "p-1-2" / run_folder.PAUSED_FILE).touch()
    looks(HangWatch(tmp_path, program, AFTER))
    assert not (tmp_path / run_folder.HANG_FILE).exists()


def test_nothing_is_recorded_yet_or_nobody_wants_to_know(tmp_path: Path) -> None:
    looks(HangWatch(tmp_path, os.getpid(), AFTER))
    assert not (tmp_path / run_folder.HANG_FILE).exists()
    assert HangWatch(tmp_path, os.getpid(), 0).every is None
