"""The libraries of models that programs of the gallery need: where one is not installed, they are skipped."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

_IMPORT = re.compile(r"^(?:import|from) (keras_hub|transformers)\b", re.M)


def every(programs: Iterable[Path]) -> list[Any]:
    """Programs as parameters of a test."""
    return [pytest.param(program, id=program.stem, marks=list(_installed(program))) for program in programs]


def needs(program: Path) -> list[str]:
    """Libraries of models that it imports."""
    return sorted(set(_IMPORT.findall(program.read_text())))


def _installed(program: Path) -> Iterator[pytest.MarkDecorator]:
    for library in needs(program):
        missing = importlib.util.find_spec(library) is None
        yield pytest.mark.skipif(missing, reason=f"{library} is not installed")
