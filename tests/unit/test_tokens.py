"""Each finding about token ids and masks, on a batch with one thing wrong and on healthy ones beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.token_batches import (
    CLS,
    FIRST,
    MASK,
    PAD,
    SEP,
    WORDS,
    Gpt2s,
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
    "tokenizer", [HuggingFaces(), WORDS, {word: number for number, word in enumerate(WORDS)}, None]
)
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("rows", [1, 8])
def test_healthy_padded_batches(tokenizer: Any, left: bool, rows: int) -> None:
    batch = bert(rows, left=left)
    assert silent(check_batch(batch, tokenizer=tokenizer))
    assert silent(check_batch(batch, np.arange(rows) % 2, tokenizer)), "labels of classes"
    assert silent(check_batch((batch, np.arange(rows) % 2), tokenizer=tokenizer)), "as Keras takes it"
    assert silent(check_batch(batch["input_ids"], tokenizer=tokenizer, mask=batch["attention_mask"] == 1))


def test_healthy_without_padding() -> None:
    assert silent(check_batch(gpt(), vocabulary=50, causal=True))
    assert silent(check_batch(gpt()["input_ids"]))
    packed = gpt()
    packed["input_ids"][:, 5] = 49
    assert silent(check_batch(packed | {"labels": packed["input_ids"]}, tokenizer=Gpt2s(), shifted_by="model"))


def test_healthy_where_padding_is_also_the_end() -> None:
    ids = gpt()["input_ids"]
    for row, long in enumerate((12, 10, 8, 6, 11, 9, 7, 5)):
        ids[row, long:] = 49
    attended = np.arange(12) <= np.array([12, 10, 8, 6, 11, 9, 7, 5])[:, None]  # the first 49 is the end, and is read
    labels = np.where(attended, ids, -100)
    report = check_batch(
        {"input_ids": ids, "attention_mask": attended, "labels": labels}, tokenizer=Gpt2s(), shifted_by="model"
    )
    assert silent(report)


def test_healthy_masked_words() -> None:
    batch = bert()
    chosen = (np.random.default_rng(1).random(batch["input_ids"].shape) < 0.3) & (batch["input_ids"] >= FIRST)
    labels = np.where(chosen, batch["input_ids"], -100)
    ids = np.where(chosen, MASK, batch["input_ids"])
    assert silent(check_batch({**batch, "input_ids": ids, "labels": labels}, tokenizer=HuggingFaces()))


def test_healthy_sequence_to_sequence() -> None:
    """As T5 has it: the decoder starts with padding, the labels are what it writes."""
    source, written = bert(seed=1), bert(seed=2)["input_ids"]
    started = np.concatenate([np.full((8, 1), PAD, np.int32), written[:, :-1]], axis=1)
    batch = {**source, "decoder_input_ids": started, "labels": masked_labels(written)}
    assert silent(check_batch(batch, tokenizer=HuggingFaces(), causal=True, shifted_by="data"))
    assert silent(check_batch({**source, "labels": masked_labels(written)}, tokenizer=HuggingFaces()))
    assert silent(
        check_batch({**source, "labels": masked_labels(bert(width=20)["input_ids"])}, tokenizer=HuggingFaces())
    )


def test_healthy_where_what_is_written_is_longer_than_what_is_read() -> None:
    """The end of the labels lies over padding of the ids, in one row, and is always the same token."""
    ids = np.array([[5, 6, 7, 3, 0, 0], [5, 6, 7, 8, 9, 3], [9, 8, 7, 3, 0, 0]])
    labels = np.array([[9, 9, 8, 8, 3, -100], [7, 6, 3, -100, -100, -100], [6, 6, 6, 3, -100, -100]])
    assert silent(check_batch({"input_ids": ids, "labels": labels}, vocabulary=14, pad=0))


def test_healthy_with_what_else_tokenizers_give() -> None:
    batch = bert()
    ids = batch["input_ids"]
    others = {
        "special_tokens_mask": np.isin(ids, (PAD, CLS, SEP)).astype(np.int32),
        "mask_positions": np.tile([3, 5, 0, 0], (8, 1)),
        "length": (ids != PAD).sum(axis=1),
        "pixel_values": np.zeros((8, 4, 4, 3), np.uint8),
    }
    assert silent(check_batch({"input_ids": ids, **others}, tokenizer=HuggingFaces()))


def test_ids_outside_of_the_vocabulary() -> None:
    batch = bert()
    batch["input_ids"][3, 2] = 40
    found = only(check_batch(batch, tokenizer=HuggingFaces()))
    assert (found.rule, found.severity, found.expected) == ("vocabulary", "error", "ids from 0 to 13")
    assert found.amount == "1 of 96" and found.found == "ids up to 40, in 1 of 8 rows" and found.positions == ((3, 2),)
    assert found.first.startswith("[3, 2] 40 in '[CLS] ") and "<40>" in found.first
    assert "Use the tokenizer that the model was trained with" in str(found.change)


@pytest.mark.parametrize(
    ("number", "vocabulary", "said", "change"),
    [
        (-1, None, "ids of 0 or more", "An embedding has no rows for negative ids"),
        (-100, 14, "ids from 0 to 13", "-100 is for labels that the loss ignores"),
        (14, 14, "ids from 0 to 13", "They count from 1, or one token was added"),
    ],
)
def test_why_ids_are_outside(number: int, vocabulary: int | None, said: str, change: str) -> None:
    batch = bert()
    batch["input_ids"][3, 2] = number
    found = only(check_batch(batch, vocabulary=vocabulary))
    assert found.rule == "vocabulary" and found.expected == said and change in str(found.change)


def test_ids_that_are_never_used() -> None:
    ids = gpt(200, 30, low=1, high=20)["input_ids"]
    found = only(check_batch(ids, vocabulary=100))
    assert (found.rule, found.severity, found.amount) == ("unused", "note", "81 of 100")
    assert "81% never occur in 6,000 tokens; the largest id is 19" in found.found
    assert silent(check_batch(ids[:20], vocabulary=100)), "too little to say so"
    assert silent(check_batch(ids, vocabulary=30))


def test_rows_of_padding_only() -> None:
    batch = bert()
    batch["input_ids"][4] = batch["attention_mask"][4] = PAD
    found = only(check_batch(batch, tokenizer=HuggingFaces()))
    assert (found.rule, found.severity, found.amount, found.positions) == ("all-padding", "error", "1 of 8", ((4,),))
    assert found.first == "[4] [PAD] [PAD] [PAD] [PAD] [PAD] [PAD] …"
    weights = (np.arange(8) != 4).astype(np.float32)
    assert silent(check_batch(batch, tokenizer=HuggingFaces(), sample_weight=weights)), "they fill up the last batch"


def test_padding_that_the_mask_leaves_open() -> None:
    batch = bert()
    batch["attention_mask"][:] = 1
    padding = int((batch["input_ids"] == PAD).sum())
    found = only(check_batch(batch, tokenizer=HuggingFaces()))
    assert (found.rule, found.severity, found.broken, found.total) == ("mask-open", "error", padding, padding)
    assert (
        found.name == "attention_mask"
        and "0 '[PAD]'" in found.first
        and found.change == "Compute the mask after padding: ids != 0."
    )
    guessed = check_batch(batch)
    assert only(guessed).severity == "warning", "looks alone are no proof"
    assert "padding 0 (guessed: it ends " in str(guessed).replace("\n         ", " ")


def test_a_mask_that_covers_tokens() -> None:
    batch = bert()
    batch["attention_mask"][2, 1] = 0
    found = only(check_batch(batch, tokenizer=HuggingFaces()))
    assert (found.rule, found.broken, found.positions) == ("mask-covers", 1, ((2, 1),))
    assert f"{WORDS[batch['input_ids'][2, 1]]!r}" in found.first
    batch["attention_mask"][:] = 0
    assert of_rule(check_batch(batch, tokenizer=HuggingFaces()), "mask-covers").found == "0 everywhere"


@pytest.mark.parametrize("tokenizer", [HuggingFaces(), None])
@pytest.mark.parametrize("dtype", [bool, np.int32, np.float32])
def test_an_inverted_mask(tokenizer: Any, dtype: Any) -> None:
    batch = bert()
    batch["attention_mask"] = (batch["input_ids"] == PAD).astype(dtype)
    found = only(check_batch(batch, tokenizer=tokenizer))
    assert (found.rule, found.severity, found.found) == ("mask-inverted", "error", "the mask is inverted")
    assert found.change == "Invert it: 1 - attention_mask, or ids != 0."


def test_masks_of_other_forms_are_healthy() -> None:
    batch = bert()
    keep = batch["input_ids"] != PAD
    for mask in (
        keep[:, None, None, :],
        np.where(keep, 0.0, -1e9),
        keep[:, None, :] & np.tri(12, dtype=bool),
        keep.astype(np.float16),
    ):
        assert silent(check_batch({**batch, "attention_mask": mask}, tokenizer=HuggingFaces()))
    for rows in (8, 12):  # one mask for all rows: which positions each position may attend to
        assert silent(check_batch(bert(rows) | {"attention_mask": np.tri(12)}, tokenizer=HuggingFaces()))
    segments = np.where(keep, np.where(np.arange(12) < 3, 1, 2), 0)  # two texts packed into each row
    assert silent(check_batch({**batch, "attention_mask": segments}, tokenizer=HuggingFaces()))


@pytest.mark.parametrize(
    ("dtype", "size", "severity", "found"),
    [
        (np.float32, 14, "warning", "float32"),
        (np.float16, 30_522, "error", "float16, which is exact up to 2,048, for ids up to 30,522"),
        (np.int8, 30_522, "error", "int8, which ends at 127, for a vocabulary of 30,522"),
        (bool, 14, "error", "True and False"),
    ],
)
def test_types_of_ids(dtype: Any, size: int, severity: str, found: str) -> None:
    batch = bert()
    batch["input_ids"] = batch["input_ids"].astype(dtype)
    said = of_rule(check_batch(batch, vocabulary=size, pad=0), "token-dtype")
    assert (said.severity, said.found) == (severity, found) and said.change


def test_ids_with_fractions() -> None:
    said = of_rule(check_batch({"input_ids": np.random.default_rng(0).random((4, 6))}), "token-dtype")
    assert said.severity == "error" and "are they embedded already" in str(said.change)


def test_types_and_values_of_masks() -> None:
    batch = bert()
    found = only(
        check_batch({**batch, "attention_mask": batch["attention_mask"].astype(np.uint8)}, tokenizer=HuggingFaces())
    )
    assert (found.rule, found.severity, found.name) == (
        "token-dtype",
        "warning",
        "attention_mask",
    ) and "mask - 1 is 255" in str(found.change)
    found = only(check_batch({**batch, "attention_mask": batch["attention_mask"] * 255}, tokenizer=HuggingFaces()))
    assert (found.rule, found.severity, found.expected, found.found) == (
        "token-dtype",
        "error",
        "0 and 1",
        "0, 255 (int32)",
    )


def test_masks_with_nan() -> None:
    batch = bert()
    mask = batch["attention_mask"].astype(np.float32)
    mask[2, 1] = np.nan
    assert of_rule(
        check_batch({**batch, "attention_mask": mask}, tokenizer=HuggingFaces()), "token-dtype"
    ).found.startswith("0, 1, nan")


@pytest.mark.parametrize(
    ("rows", "shape", "words"),
    [
        (12, (12,), "passes only because rows and positions are equal in number"),
        (8, (12,), "each position"),
        (8, (8,), "each row"),
    ],
)
def test_a_mask_that_is_stretched(rows: int, shape: tuple[int, ...], words: str) -> None:
    batch = bert(rows) | {"attention_mask": np.ones(shape, np.int32)}
    found = only(check_batch(batch, tokenizer=HuggingFaces()))
    assert (found.rule, found.severity, found.expected, found.found) == (
        "token-shape",
        "error",
        f"shape [{rows}, 12]",
        str(list(shape)),
    )
    assert words in str(found.change)
