"""Rows of validation that were trained on: what is counted, and from when on it is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.test_input_rows import kept, read
from tests.unit.test_token_rules import sequences

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.inputs import validation_overlap as rule
from tensorsleuth.diagnose.inputs.row_overlap import RowOverlap
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences
from tensorsleuth.diagnose.rule import RuleFinding, Severity
from tensorsleuth.trace.series.input_rows import InputRows

GIVEN: Any = SimpleNamespace(entry=lambda _: Frame("train.py", 16, "<module>"))
PROCESS: Any = SimpleNamespace()


def text(number: int, name: str = "train/ids") -> TokenSequences:
    rng = np.random.default_rng(number)
    one = sequences([rng.integers(5, 40, (32, 8)) for _ in range(3)])
    one.series.number, one.name = number, name.partition("/")[2]
    return one


def found(rows: InputRows, *texts: TokenSequences) -> RowOverlap | None:
    held_out = {one.name: [100 + one.series.number] for one in texts}
    return rule.overlap_of_rows(rows, list(texts), held_out)


def told(overlap: RowOverlap) -> list[RuleFinding]:
    return [rule.RULE.complete(one) for one in rule._judged(PROCESS, GIVEN, [text(1)], overlap)]


def test_rows_are_counted_once() -> None:
    rows = read(kept(1, [*range(100), *range(50)]), kept(101, [*range(90, 130)] * 3))
    assert found(rows, text(1)) == RowOverlap(10, 40, 100, "ids")


def test_each_fit_is_for_itself() -> None:
    """Folds of a cross-validation: each part is trained on by other models, and held out once."""
    folds = [kept(1, [*range(40)], fit=1), kept(101, [*range(40, 60)], fit=1)]
    folds += [kept(1, [*range(20, 60)], fit=2), kept(101, [*range(20)], fit=2)]
    apart = found(read(*folds), text(1))
    assert apart is not None and apart.shared == 0
    leaky = found(read(*folds, kept(101, [5, 6, 7, 8, 9], fit=1)), text(1))
    assert leaky == RowOverlap(5, 25, 40, "ids")


def test_a_premise_that_both_sets_have_is_no_sample_that_both_have() -> None:
    trained = kept(1, [1, 1, 2, 2]), kept(2, [10, 11, 12, 13])
    measured = kept(101, [1, 2], batch=5000), kept(102, [14, 13], batch=5000)
    texts = text(1, "train/premise"), text(2, "train/claim")
    assert found(read(*trained, *measured), *texts) == RowOverlap(1, 2, 4, "premise, claim")


def test_where_no_row_of_validation_was_kept_nothing_is_known() -> None:
    assert found(read(kept(1, [1, 2, 3])), text(1)) is None and found(read(), text(1)) is None


@pytest.mark.parametrize(("shared", "measured", "is_told"), [(3, 10, False), (4, 400, True), (4, 401, False)])
def test_from_when_on_it_is_told(shared: int, measured: int, is_told: bool) -> None:
    assert bool(told(RowOverlap(shared, measured, 1000, "ids"))) == is_told


def test_much_is_a_problem_and_little_a_note() -> None:
    (much,), (little,) = told(RowOverlap(200, 2000, 18000, "x")), told(RowOverlap(99, 2000, 18000, "x"))
    assert much.severity is Severity.WRONG and little.severity is Severity.NOTE
    words = "validates with samples that it trains on: 200 of the 2,000 rows of validation are among the 18,000 rows of"
    assert much.why.startswith(f"{words} training (x)") and much.cause == "overlap"
    assert "data[:n]" in much.fix and much.frame is not None and much.frame.line == 16


def test_looks_are_said_to_be_looks() -> None:
    words = RowOverlap(8, 64, 300, "x", in_part=True).words
    assert words == "8 of the 64 rows of validation that were sampled are among 300 rows of training (x)"


def test_an_input_that_is_looked_up_twice_is_one() -> None:
    texts = [text(1), text(1), text(2, "train/claim"), text(3, "other/ids")]
    for one, name in zip(texts, ("train/ids", "train/ids", "train/claim", "other/ids"), strict=True):
        one.series.name = name
    assert [[one.name for one in group] for group in rule._by_function(texts)] == [["ids", "claim"], ["ids"]]


def test_batches_that_repeat_their_rows_say_nothing() -> None:
    one = sequences([np.tile(np.arange(8), (32, 1)) + np.arange(16).repeat(2)[:, None]] * 3)
    assert rule._repeated_share(one) == 0.5 > rule.MAX_REPEATED_SHARE >= rule._repeated_share(text(1))
