"""Each finding about the labels of tokens, on a batch with one thing wrong and on healthy ones beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.token_batches import (
    PAD,
    HuggingFaces,
    bert,
    gpt,
    masked_labels,
    of_rule,
    only,
    silent,
)

from tensorsleuth import check_batch


@pytest.mark.parametrize(
    ("labels", "causal", "severity", "words"),
    [
        ((8, 12, 1), None, "warning", "stretched to [batch, time, time]"),
        ((8,), True, "error", "has a label for each position"),
        ((8, 11), True, "error", "Cut inputs and labels alike"),
        ((12, 8), None, "error", "transposed"),
        ((7,), None, "error", "was one of them cut"),
    ],
)
def test_labels_of_other_shapes(labels: tuple[int, ...], causal: bool | None, severity: str, words: str) -> None:
    random = np.random.default_rng(0)
    found = of_rule(check_batch(gpt(), random.integers(0, 3, labels), vocabulary=50, causal=causal), "token-shape")
    assert (found.severity, found.name) == (severity, "labels") and words in str(found.change)


def test_companions_of_other_shapes() -> None:
    batch = bert()
    found = only(check_batch(batch | {"token_type_ids": np.zeros((8, 10), np.int32)}, tokenizer=HuggingFaces()))
    assert (found.rule, found.name, found.found) == ("token-shape", "token_type_ids", "[8, 10]")
    fine = {"token_type_ids": np.zeros((8, 12), np.int32), "position_ids": np.arange(12)[None]}
    assert silent(check_batch(batch | fine, tokenizer=HuggingFaces()))


def test_labels_that_are_no_token() -> None:
    ids = gpt()["input_ids"]
    labels = ids.copy()
    labels[2, 3:5] = -1
    found = of_rule(check_batch(ids, labels, vocabulary=50, causal=False), "label-range")
    assert (found.severity, found.amount, found.expected) == ("error", "2 of 96", "labels from 0 to 49, or -100")
    assert found.first == "[2, 3] -1, [2, 4] -1" and "pass ignore=-1" in str(found.change)
    assert silent(check_batch(ids, labels, vocabulary=50, causal=False, ignore=-1))
    labels[2, 3:5] = 50
    spoilt = ids.copy()
    spoilt[2, 3:5] = 50
    assert only(check_batch(spoilt, labels, vocabulary=50, causal=False)).rule == "vocabulary", "told once"
    assert "such as 50, in 1 of 8 rows" in of_rule(check_batch(ids, labels, vocabulary=50), "label-range").found


SHIFTS = {0: "t", 1: "t + 1", 2: "t + 2", -1: "t - 1"}


@pytest.mark.parametrize(
    ("offset", "said", "severity", "words"),
    [
        (0, {}, "note", "Correct if the model shifts the labels"),
        (0, {"causal": True}, "note", "Correct if the model shifts the labels"),
        (0, {"shifted_by": "data"}, "error", "The model sees the answer"),
        (1, {"shifted_by": "model"}, "error", "The model shifts them again"),
        (2, {"causal": True}, "error", "The labels are shifted twice"),
        (2, {}, "warning", "The labels are shifted twice"),
        (-1, {"causal": True}, "error", "the wrong way"),
        (-1, {}, "warning", "the wrong way"),
    ],
)
def test_labels_that_are_not_moved_as_they_should(offset: int, said: dict[str, Any], severity: str, words: str) -> None:
    ids = gpt(8, 16)["input_ids"]
    found = only(check_batch(ids[:, 2:14], ids[:, 2 + offset : 14 + offset], vocabulary=50, **said))
    assert (found.rule, found.severity) == ("labels-shift", severity) and words in str(found.change)
    assert f"label t is token {SHIFTS[offset]}, in " in found.found


def test_labels_that_are_moved_as_they_should() -> None:
    ids = gpt(8, 13)["input_ids"]
    assert silent(check_batch(ids[:, :-1], ids[:, 1:], vocabulary=50, shifted_by="data"))
    assert silent(check_batch(ids[:, :-1], ids[:, 1:], vocabulary=50, causal=True))
    assert silent(check_batch({"input_ids": ids, "labels": ids}, vocabulary=50, shifted_by="model"))
    assert silent(check_batch(ids, ids, vocabulary=50, causal=False)), "copies are meant"
    beside = only(check_batch({"input_ids": ids[:, :-1], "labels": ids[:, 1:]}, vocabulary=50))
    assert beside.severity == "note" and "shift the labels again" in str(beside.change)
    same = np.full((8, 12), 7)
    assert silent(check_batch(same, same, vocabulary=50)), "nothing can be told"


def test_padding_in_the_loss() -> None:
    batch = bert()
    ids = batch["input_ids"]
    padding = int((ids == PAD).sum())
    found = only(check_batch(batch | {"labels": ids}, tokenizer=HuggingFaces(), shifted_by="model"))
    assert (found.rule, found.severity, found.name, found.broken) == ("loss-padding", "error", "labels", padding)
    assert found.change == "Set labels there to -100, or sample_weight to 0."
    assert silent(check_batch(batch | {"labels": masked_labels(ids)}, tokenizer=HuggingFaces(), shifted_by="model"))
    weights = (ids != PAD).astype(np.float32)
    assert silent(check_batch((batch, ids, weights), tokenizer=HuggingFaces(), shifted_by="model"))
    keras = only(check_batch((batch, ids), tokenizer=HuggingFaces(), shifted_by="model"))
    assert keras.severity == "warning" and "pass ignore=0" in str(keras.change), "Keras may mask it by itself"
    assert silent(check_batch((batch, ids), tokenizer=HuggingFaces(), shifted_by="model", ignore=0))


def test_padding_of_the_labels_themselves() -> None:
    batch, written = bert(), bert(width=20, seed=5)["input_ids"]
    found = only(check_batch(batch | {"labels": written}, tokenizer=HuggingFaces()))
    assert (found.rule, found.severity) == ("loss-padding", "error") and found.broken == int((written == PAD).sum())
