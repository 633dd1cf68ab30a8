"""Masks of padded texts, one text and two, by hand and compiled: what is wrong is named, what is right is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.compat import text_models as models
from tests.compat.looking import marked_in

import tensorsleuth
from tensorsleuth.diagnose.attention.remarks import remarks_of
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Model = Callable[[], None]
RIGHT: dict[str, Model] = {
    "causal": lambda: models.going_on(models.causal),
    "causal, compiled": lambda: models.going_on(models.causal, jit=True),
    "causal without padding": lambda: models.going_on(models.causal, padded=False),
    "prefix": lambda: models.going_on(models.prefix, padded=False, loss_from=models.PREFIX),
    "times a mask, and hidden": lambda: models.going_on(models.times_and_hidden),
    "masked": lambda: models.classified(models.of_keys),
    "masked, compiled": lambda: models.classified(models.of_keys, jit=True),
    "unsigned": lambda: models.classified(models.unsigned),
    "floats": lambda: models.classified_by(models.hidden_by),
    "window": lambda: models.classified(models.window),
    "translated": lambda: models.translated(models.of_keys, models.causal, models.of_keys),
    "translated, both masked": lambda: models.translated(models.of_keys, models.causal_of_keys, models.of_keys),
    "translated without padding": lambda: models.translated(models.none, models.causal, models.none, padded=False),
}
WRONG: dict[str, tuple[Model, str, str]] = {
    "no mask in a decoder": (
        lambda: models.translated(models.of_keys, models.none, models.of_keys), "no-causal-mask", "attends",
    ),
    "no causal mask in one of two layers": (
        lambda: models.going_on_in_two(models.causal, models.of_keys), "no-causal-mask", "attends",
    ),
    "only padding is masked in a decoder": (
        lambda: models.translated(models.of_keys, models.of_keys, models.of_keys), "no-causal-mask", "attends",
    ),
    "cross attention without a mask": (
        lambda: models.translated(models.of_keys, models.causal, models.none), "padding-unmasked", "attends",
    ),
    "mask of queries": (lambda: models.classified(models.of_queries), "mask-of-queries", "a row for each query"),
    "mask of queries, compiled": (
        lambda: models.classified(models.of_queries, jit=True), "mask-of-queries", "a row for each query",
    ),
    "unsigned, below nothing": (
        lambda: models.classified(models.below_nothing), "token-dtype", "less than nothing",
    ),
    "floats, added": (lambda: models.classified_by(models.added_to), "mask-open", "ones are added"),
    "floats, turned round": (lambda: models.classified_by(models.turned_by), "mask-inverted", "tokens are hidden"),
    "times a causal mask": (
        lambda: models.going_on(models.times_past, padded=False), "mask-multiplied", "times what is past",
    ),
    "times a mask of padding": (lambda: models.classified(models.times_real), "mask-multiplied", "times what is real"),
    "dropped scores": (lambda: models.classified(models.dropped), "mask-open", "of an id that no text has"),
    "chosen scores": (lambda: models.classified(models.chosen), "mask-open", "of an id that no text has"),
    "times both": (lambda: models.going_on(models.times_both), "mask-multiplied", "times both"),
}  # fmt: skip


def causes(found: tuple[Any, ...] | list[Any]) -> list[tuple[str, int | None]]:
    return [(one.cause, one.line) for one in found]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_healthy(recorded: Recorded, name: str) -> None:
    found = tensorsleuth.diagnose(recorded(RIGHT[name]))
    assert causes(found.findings) == []
    assert [one.cause for one in found.notes if one.cause == "padding-unmasked"] == []


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(recorded: Recorded, name: str) -> None:
    model, cause, mark = WRONG[name]
    found = tensorsleuth.diagnose(recorded(model)).findings
    assert causes(found) == [(cause, marked_in(models.__file__, mark))]


def test_attention_and_why_say_the_same(recorded: Recorded) -> None:
    trace = recorded(lambda: models.going_on_in_two(models.causal, models.of_keys))
    (remark,) = [one for one in remarks_of(trace.inside()) if one.severity == "error"]
    (finding,) = tensorsleuth.diagnose(trace).findings
    assert remark.what == finding.cause == "no-causal-mask" and "(1 of 2 look back only)" in remark.words
    assert finding.summary.endswith(remark.words.partition(" ")[2])


def test_a_mask_of_padding_is_no_causal_mask(recorded: Recorded) -> None:
    """Where that is missing as well, both are told."""
    found = tensorsleuth.diagnose(recorded(lambda: models.going_on(models.times_real))).findings
    lines = [marked_in(models.__file__, mark) for mark in ("times what is real", "attends")]
    assert sorted(causes(found)) == [("mask-multiplied", lines[0]), ("no-causal-mask", lines[1])]


def test_no_mask_at_all_is_a_note(recorded: Recorded) -> None:
    found = tensorsleuth.diagnose(recorded(lambda: models.classified(models.none)))
    assert causes(found.findings) == []
    assert causes(found.notes) == [("padding-unmasked", marked_in(models.__file__, "attends"))]


def test_the_shape_of_a_mask_of_queries_is_said(recorded: Recorded) -> None:
    (found,) = tensorsleuth.diagnose(recorded(lambda: models.classified(models.of_queries))).findings
    assert "expected [16, 1, 12], a column for each key, found [16, 12, 1], a row for each query" in found.summary
    assert "mask[:, tf.newaxis, :]" in (found.fix or "")
