"""Every program of the gallery, run through `sleuth run`: its marked line, its marked cause, no false alarm."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from tests.programs.score import programs, score


@pytest.mark.parametrize("program", programs([]), ids=lambda program: program.stem)
def test_verdict(program: Path, tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    found = score(program, tmp_path)
    record_property("score", asdict(found))
    assert not found.trouble
    assert found.line and found.cause and not found.false_alarm, str(found)
