"""Every program of the gallery, recorded: its marked line, its marked cause, no false alarm.

`make test` runs the first of each cause and all that are healthy; `make test-all` all of them, through `sleuth run`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.programs.score import MARK, Score, programs, run_whole, score
from tests.warm_python import WarmPython

from tensorsleuth.trace import rundir


def shorter() -> Iterator[Any]:
    known: set[str] = set()
    for program in programs([]):
        causes = {cause for _, cause in MARK.findall(program.read_text())}
        if not causes or not causes <= known:
            yield program
        known |= causes


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmPython]:
    python = WarmPython()
    yield python
    python.close()


@pytest.mark.parametrize("program", list(shorter()), ids=lambda program: program.stem)
def test_verdict(program: Path, warm: WarmPython, tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    def run(program: Path, logdir: Path) -> tuple[int, str]:
        recorded = rundir.create(logdir, [str(program)])
        code, errors = warm.run(program, recorded)
        rundir.write_end(recorded, code, None)
        return code, errors

    own = "os.environ" in program.read_text()  # TensorFlow reads it while it is imported
    judge(score(program, tmp_path, run_whole if own else run), record_property)


@pytest.mark.long
@pytest.mark.parametrize("program", programs([]), ids=lambda program: program.stem)
def test_verdict_of_sleuth_run(program: Path, tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    judge(score(program, tmp_path, run_whole), record_property)


def judge(found: Score, record_property: pytest.RecordProperty) -> None:
    record_property("score", asdict(found))
    assert not found.trouble
    assert not found.unsaid
    assert found.line and found.cause and not found.false_alarm, str(found)
