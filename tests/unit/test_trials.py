"""The tables of blind trials in docs/why.md are made of the trials that are kept."""

from __future__ import annotations

import dataclasses

import pytest
from tests.trials.trial import BEGIN, END, PAGE, Trial, load, tables, with_tables

EXACT = Trial(1, "owner/name/train.py", "nan", "no epsilon", "problem", "log(0), line 7", "exact", "right", "high")
HALF = dataclasses.replace(EXACT, line="near", cause="half", confidence="medium")
MISSED = dataclasses.replace(EXACT, verdict="healthy", told="", line="none", cause="none", confidence=None)
HEALTHY = Trial(2, "owner/name/gan.py", "healthy", "", "healthy", "", "none", "none", None)


def test_the_page_has_the_tables_of_the_kept_trials() -> None:
    assert PAGE.read_text() == with_tables(PAGE.read_text(), load()), "write them with: python -m tests.trials"


def test_rounds_are_counted_by_kind() -> None:
    shown = tables([EXACT, HALF, MISSED, HEALTHY])
    assert "| 1 | values go NaN or infinite (3) | 2 | 1 / 1 / 0 | 1 / 1 / 0 |" in shown
    assert "| 2 | healthy (1) | 0 |  |  |" in shown


def test_a_confidence_is_right_with_line_and_cause_only() -> None:
    wrong = dataclasses.replace(EXACT, line="wrong")
    shown = tables([EXACT, EXACT, EXACT, wrong, HALF])
    assert "| high | 4 | 3 (75 %) |" in shown and "| medium | 1 | 0 (0 %) |" in shown and "| low | 0 |  |" in shown


def test_an_alarm_on_a_healthy_program_is_a_wrong_one() -> None:
    alarm = dataclasses.replace(HEALTHY, verdict="problem", told="dead layer", confidence="high")
    assert "| high | 1 | 0 (0 %) |" in tables([alarm])


def test_a_value_that_is_not_known_is_named() -> None:
    with pytest.raises(ValueError, match=r"owner/name/train\.py: line is 'close', expected one of \('exact', 'near'"):
        dataclasses.replace(EXACT, line="close")


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="it needs the lines"):
        with_tables(f"{BEGIN} and no end", [])
    assert with_tables(f"a\n{BEGIN}\nold\n{END}\nb", []) == f"a\n{BEGIN}\nNo trial is kept yet.\n{END}\nb"
