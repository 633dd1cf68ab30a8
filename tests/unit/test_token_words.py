"""Where tokens are wrong, in words: which sample and position, and what stands there."""

from __future__ import annotations

from typing import Any

import pytest

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.violation import ValueNote, Violation
from tensorsleuth.diagnose.exits.value_text import parse_value_text
from tensorsleuth.diagnose.inputs.token_wording import describe_positions
from tensorsleuth.diagnose.rule import text_evidence


def violation(rule: str, positions: Any, values: Any, broken: int) -> Violation:
    return Violation(rule, "mask", "this", "that", broken, 40, positions, values)


@pytest.mark.parametrize(
    ("rule", "positions", "values", "broken", "says"),
    [
        ("mask-inverted", ((0, 6), (0, 7)), (0, 0), 2, "first in sample 0 at position 6 (token 0), 7 (token 0)"),
        (
            "loss-padding",
            ((0, 5), (2, 4), (2, 5), (3, 1)),
            (0, 0, 0, 0),
            9,
            "first in sample 0 at position 5 (label 0), sample 2 at position 4 (label 0), 5 (label 0), …",
        ),
        (
            "vocabulary",
            ((1, 5),),
            (ValueNote("12 in 'sat on <12>'"),),
            1,
            "first in sample 1 at position 5 (id 12 in 'sat on <12>')",
        ),
        (
            "all-padding",
            ((3,), (8,)),
            (ValueNote("0 0 0"), ValueNote("0 0 0")),
            2,
            "first in sample 3 (0 0 0), sample 8 (0 0 0)",
        ),
    ],
)
def test_sample_and_position_are_said(rule: str, positions: Any, values: Any, broken: int, says: str) -> None:
    assert describe_positions(violation(rule, positions, values, broken)) == says


def test_words_are_not_a_dtype() -> None:
    evidence = text_evidence("in", "mask", "first in sample 0")
    assert (evidence.dtype, evidence.shape, evidence.health) == ("", None, "first in sample 0")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("train/ids", "ids"),
        ("multi_step_on_iterator/0", "x"),
        ("multi_step_on_iterator/0/1", "x[1]"),
        ("one_step_on_iterator/0/input_ids", 'x["input_ids"]'),
        ("multi_step_on_iterator/1", "y"),
        ("alone", "alone"),
    ],
)
def test_inputs_have_the_names_of_the_program(name: str, told: str) -> None:
    assert program_input_name(name) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("int32 [2], 1 … 5", ("int32", (2,), "1 … 5")),
        ("float32 [8, 3]", ("float32", (8, 3), "")),
        ("bool []", ("bool", (), "")),
        ("a list of 3", ("", None, "a list of 3")),
    ],
)
def test_what_was_written_down_is_taken_apart(text: str, told: Any) -> None:
    assert parse_value_text(text) == told
