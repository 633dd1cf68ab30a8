"""Findings that began after a bad value are told as its effects, and no others are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tensorsleuth.core.finding import Basis, Finding
from tensorsleuth.diagnose.effects import fold_effects

FILE = "train.py"
SYMPTOMS = {"dead-layer"}


def root(**fields: Any) -> Finding:
    given = {"step": 5, "chain": ("Log (train.py:3, NaN)", "written to w"), **fields}
    return Finding(
        cause="log-zero",
        confidence=0.9,
        severity=given.pop("severity", "error"),
        summary=f"{FILE}:3 takes log(0).",
        file=FILE,
        line=3,
        function="f",
        code=None,
        op="Log",
        name="Log",
        iteration=None,
        **given,
    )


def dead(step: int | None, cause: str = "dead-layer") -> Finding:
    summary = f"{FILE}:9 puts out nothing but zeros (hidden): this ReLU is inactive."
    return replace(root(), cause=cause, summary=summary, line=9, op="Relu", step=step, chain=(), basis=Basis.COUNTED)


def test_what_began_later_is_an_effect() -> None:
    (told,), rest = fold_effects([root()], [dead(6)], SYMPTOMS)
    assert rest == [] and told.effects == ("since step 6, train.py:9 puts out nothing but zeros (hidden)",)
    assert told.to_json()["effects"] == told.effects


@pytest.mark.parametrize(
    ("finding", "counted"),
    [
        (root(), dead(0)),  # it was dead before
        (root(), dead(5)),
        (root(), dead(None)),
        (root(), dead(6, cause="retracing")),  # no NaN does that
        (root(step=None), dead(6)),
        (root(severity="masked"), dead(6)),
        (root(chain=("Log (train.py:3, NaN)", "given to Python by f")), dead(6)),  # the weights are as they were
        (root(layer="metric auc"), dead(6)),
    ],
)
def test_what_has_a_cause_of_its_own_is_told_by_itself(finding: Finding, counted: Finding) -> None:
    assert fold_effects([finding], [counted], SYMPTOMS) == ([finding], [counted])
