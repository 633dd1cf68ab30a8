"""A cause is one file. It is asked only about the ops, and the parts of a recording, that it lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit import little_run

from tensorsleuth.diagnose.nan import causes as module
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.causes import Cause, CauseMatcher, causes, explain
from tensorsleuth.diagnose.nan.origins import OriginFinder
from tensorsleuth.diagnose.needs import Need
from tensorsleuth.trace.reader import Trace


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """The Log of a function that takes the log of 0."""
    (process,) = Trace(little_run.write(tmp_path / "run", tmp_path / "train.py")).processes
    finder = OriginFinder(process)
    return Case(finder, next(finder.find()))


def asked_of(
    case: Case, monkeypatch: pytest.MonkeyPatch, **every: tuple[frozenset[str] | None, Need | None]
) -> list[str]:
    asked: list[str] = []

    def noting(name: str) -> CauseMatcher:
        note: Callable[[Case], None] = lambda case: asked.append(name)  # noqa: E731
        return note

    known = tuple(Cause(noting(name), *lists) for name, lists in every.items())
    monkeypatch.setattr(module, "causes", lambda: known)
    assert explain(case) is None
    return list(dict.fromkeys(asked))


def test_a_cause_is_asked_about_its_ops(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    assert case.op == "Log"
    every = {"log": (frozenset(["Log", "Log1p"]), None), "root": (frozenset(["Sqrt"]), None), "any": (None, None)}
    assert asked_of(case, monkeypatch, **every) == ["log", "any"]


def test_a_cause_is_asked_about_a_process_that_has_its_parts(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    every = {"texts": (None, Need.TEXTS), "functions": (None, Need.TEXTS | Need.FUNCTIONS)}
    assert asked_of(case, monkeypatch, **every) == ["functions"]


def test_the_surest_explanation_is_told(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    told = explain(case)
    assert told is not None and told[1].cause == "cross-entropy-by-hand"
    sure = Explanation("sure", 0.99, "is sure", "nothing")
    monkeypatch.setattr(module, "causes", lambda: (*causes(), Cause(lambda case: sure, frozenset(["Log"]), None)))
    assert explain(case) == (case, sure)


def test_causes_list_ops() -> None:
    listed = [cause.ops for cause in causes() if cause.ops is not None]
    assert len(listed) > 8 and all(ops and all(op[:1].isupper() or op.startswith("_") for op in ops) for ops in listed)
