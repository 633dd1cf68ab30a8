"""Every program of the gallery, run through `sleuth run`: its marked line, its marked cause, no false alarm.

`make test` runs the first of each cause and all that are healthy, `make test-all` the others too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.programs.score import MARK, programs, score


def gallery() -> Iterator[Any]:
    known: set[str] = set()
    for program in programs([]):
        causes = {cause for _, cause in MARK.findall(program.read_text())}
        marks = [pytest.mark.long] if causes and causes <= known else []
        known |= causes
        yield pytest.param(program, marks=marks, id=program.stem)


@pytest.mark.parametrize("program", list(gallery()))
def test_verdict(program: Path, tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    found = score(program, tmp_path)
    record_property("score", asdict(found))
    assert not found.trouble
    assert found.line and found.cause and not found.false_alarm, str(found)
