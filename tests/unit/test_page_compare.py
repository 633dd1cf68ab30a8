"""Two runs side by side: the first tensor at which they part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit import little_run
from tests.unit.page_client import ask

from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.ui.web.answers.compare.wording import _two_numbers
from tensorsleuth.ui.web.run.errors import NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun


@pytest.fixture
def here(tmp_path: Path) -> OpenRun:
    return OpenRun(little_run.write(tmp_path / "here", tmp_path / "train.py"))


def other(here: OpenRun, changes: dict[int, dict[str, Any]], **more: Any) -> dict[str, Any]:
    little_run.write(here.path.parent / "there", here.path.parent / "train.py", changes=changes, **more)
    answer: dict[str, Any] = ask(here, "compare", with_="there")
    return answer


def test_the_same_program_twice(here: OpenRun) -> None:
    answer = other(here, {})
    assert answer["same"] and answer["compared"] == 36 and answer["parted"] is None
    assert (answer["run"], answer["with"], answer["differing"]) == ("here", "there", [])


def test_a_number_that_differs_in_its_last_bit(here: OpenRun) -> None:
    answer = other(here, {10: {"max": np.nextafter(0.75, 1)}, 11: {"max": -0.125}, 20: {"max": -0.125}})
    assert not answer["same"] and (answer["onlyHere"], answer["onlyThere"]) == ([], [])
    parted = answer["parted"]
    assert (parted["here"]["id"], parted["there"]["id"], parted["here"]["step"]) == ("0.10", "0.10", 1)
    assert parted["why"] == "max 0.75 here, 0.75000000000000011 there"
    differing = [(one["name"], one["here"]["id"]) for one in answer["differing"]]
    assert differing == [("net/hidden/Softmax:0", "0.10"), ("Log:0", "0.11")]  # the first of each op


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"dtype": 2}, "float32 here, float64 there"),
        ({"shape": 1}, "shape [2, 3] here, [] there"),
        ({"nan": 3, "flags": little_run.LOOK | EventFlag.BAD}, "0 NaN here, 3 there"),
        ({"mean": 7.0}, "mean 2.5 here, 7 there"),
    ],
)
def test_why(here: OpenRun, fields: dict[str, Any], why: str) -> None:
    answer = other(here, {0: fields})
    assert answer["parted"]["why"] == why and answer["parted"]["here"]["id"] == "0.0"


def test_iterations_are_told_apart_whatever_came_first(here: OpenRun) -> None:
    swapped: dict[int, dict[str, Any]] = {5: {"iteration": 2, "min": -3.0}, 7: {"iteration": 0}}
    little_run.write(here.path.parent / "a", here.path.parent / "train.py", changes={7: {"min": -3.0}})
    first = OpenRun(here.path.parent / "a")
    answer = other(first, swapped)
    assert answer["same"], answer["differing"]


def test_what_only_one_mode_knows_is_not_compared(here: OpenRun) -> None:
    less: dict[str, Any] = {"flags": EventFlag.LOOKED, "min": 9.0, "neg": 5}
    assert other(here, dict.fromkeys(range(9), less))["same"]


def test_ops_that_the_other_does_not_have(here: OpenRun, tmp_path: Path) -> None:
    from tensorsleuth.trace.storage import synthetic

    synthetic.write(tmp_path / "there", 1000, 0)
    answer = ask(here, "compare", with_="there")
    assert not answer["same"] and answer["compared"] == 0 and answer["parted"] is None
    assert "Log Log in train_step" in answer["onlyHere"] and len(answer["onlyThere"]) == 100


@pytest.mark.parametrize("name", ["absent", "../here", "/", "."])
def test_only_a_run_beside_it(here: OpenRun, name: str) -> None:
    with pytest.raises(NotFound, match="no run"):
        ask(here, "compare", with_=name)


def test_two_numbers_in_as_few_digits_as_tell_them_apart() -> None:
    assert _two_numbers(1.0, 2.0) == "1 here, 2 there"
    assert _two_numbers(1.0000001, 1.0000002) == "1.0000001 here, 1.0000002 there"
