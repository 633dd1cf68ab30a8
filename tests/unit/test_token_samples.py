"""Samples that were cut, empty samples, special tokens, stray characters, overlap; the report, and wrong calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.token_batches import (
    CLS,
    FIRST,
    PAD,
    SEP,
    HuggingFaces,
    KerasHubs,
    bert,
    of_rule,
    only,
    silent,
)

from tensorsleuth import DataError, ExpectationWarning, SleuthError, check_batch


def test_samples_that_were_cut() -> None:
    batch = {"input_ids": np.random.default_rng(0).integers(FIRST, 14, (8, 12)).astype(np.int32)}
    batch["input_ids"][:, 0] = CLS
    batch["input_ids"][:2, 6], batch["input_ids"][:2, 7:] = SEP, PAD
    found = of_rule(check_batch(batch, tokenizer=HuggingFaces()), "truncated")
    assert (found.severity, found.amount, found.found) == ("warning", "6 of 8", "rows cut at 12 tokens")
    assert "Allow longer rows" in str(found.change)
    words = np.random.default_rng(0).integers(1, 50, (8, 12))
    long = only(check_batch(words, vocabulary=50, max_length=12))
    assert (long.rule, long.expected, long.amount) == ("truncated", "most rows shorter than 12 tokens", "8 of 8")
    assert silent(check_batch(words, vocabulary=50, max_length=12, causal=True)), "texts that were packed"


def test_empty_samples() -> None:
    batch = bert()
    batch["input_ids"][5], batch["attention_mask"][5] = PAD, 0
    batch["input_ids"][5, :2], batch["attention_mask"][5, :2] = (CLS, SEP), 1
    found = only(check_batch(batch, tokenizer=HuggingFaces()))
    assert (found.rule, found.severity, found.found) == ("empty", "warning", "rows of special tokens only")
    assert found.first == "[5] [CLS] [SEP] [PAD] [PAD] [PAD] [PAD] …"
    none = only(check_batch({"input_ids": [[5, 6, 7], [], [8]]}, vocabulary=14))
    assert (none.rule, none.severity, none.found, none.positions) == ("empty", "error", "rows of no length", ((1,),))
    text = only(check_batch(["a dog ran", "  ", "a cat sat"]))
    assert (text.rule, text.amount, text.positions) == ("empty", "1 of 3", ((1,),))


def test_special_tokens_that_come_twice() -> None:
    batch = bert()
    ids = np.concatenate([np.full((8, 1), CLS, np.int32), batch["input_ids"]], axis=1)
    found = only(check_batch(ids, tokenizer=HuggingFaces()))
    assert (found.rule, found.severity, found.amount) == ("special-doubled", "error", "8 of 8")
    assert found.expected == "[CLS] once at the start" and found.first.startswith("[0] [CLS] [CLS] ")
    ended = bert()["input_ids"]
    ended = np.concatenate([ended, np.zeros((8, 1), np.int32)], axis=1)
    last = (ended == SEP).argmax(axis=1)
    ended[np.arange(8), last + 1] = SEP
    found = only(check_batch(ended, tokenizer=HuggingFaces()))
    assert found.rule == "special-doubled" and found.expected == "[SEP] once at the end"


def test_special_tokens_that_are_missing() -> None:
    batch = bert()
    bare = np.where(np.isin(batch["input_ids"], (CLS, SEP)), FIRST, batch["input_ids"])
    found = check_batch(bare, tokenizer=HuggingFaces())
    assert [(one.rule, one.severity, one.expected) for one in found] == [
        ("special-missing", "error", "[CLS] at the start of every row"),
        ("special-missing", "error", "[SEP] at the end of every row"),
    ]
    ids = np.array([[1, 5, 6, 0, 0], [1, 7, 8, 9, 0], [1, 5, 0, 0, 0]])
    endless = only(check_batch(ids, tokenizer=KerasHubs()))
    assert (endless.rule, endless.severity, endless.found) == ("special-missing", "warning", "no row has it")
    assert "never learns to stop" in str(endless.change)
    assert silent(check_batch(ids, np.array([0, 1, 0]), KerasHubs())), "a classifier needs no end"
    ids[np.arange(3), [3, 4, 2]] = 2
    assert silent(check_batch(ids, tokenizer=KerasHubs()))


class Xlnets(HuggingFaces):
    """Where [SEP] [CLS] end each row, and padding comes first."""

    bos_token_id = 1


class Nllbs(HuggingFaces):
    """Where <s> is the start of both kinds, and rows begin with the code of their language."""

    bos_token_id = CLS


def test_special_tokens_in_other_places() -> None:
    ids = bert(left=True)["input_ids"]
    turned = np.where(ids == CLS, FIRST, np.where(ids == SEP, CLS, ids))
    turned[:, -2] = SEP
    assert silent(check_batch(turned, tokenizer=Xlnets()))
    coded = np.where(bert()["input_ids"] == CLS, 13, bert()["input_ids"])
    assert only(check_batch(coded, tokenizer=Nllbs())).severity == "warning"
    coded[3, 0] = CLS
    assert only(check_batch(coded, tokenizer=Nllbs())).severity == "error", "some have it and some have not"


@pytest.mark.parametrize(
    ("text", "what", "change"),
    [
        ("a\x00b", "1 × U+0000 (NUL)", "Strip them"),
        ("caf\ufffd", "1 × U+FFFD (replacement character)", "decoded wrongly"),
        ("\ufefffirst", "1 × U+FEFF (byte order mark)", "Strip them"),
        ("bell\x07\x07", "2 × U+0007 (control character)", "Strip them"),
    ],
)
def test_stray_characters(text: str, what: str, change: str) -> None:
    found = only(check_batch({"text": ["a cat sat", text, "tabs\tand\r\nlines are fine", "naïve 猫 👩‍🚀"]}))
    assert (found.rule, found.severity, found.found, found.positions) == (
        "stray-characters",
        "error",
        f"rows with {what}",
        ((1,),),
    )
    assert change in str(found.change)
    assert found.first == f"[1] {text!r}" and "\x00" not in found.first


def test_few_stray_characters_are_a_warning() -> None:
    assert only(check_batch(["fine words"] * 200 + ["a\x00b"])).severity == "warning"


def test_overlap_of_training_and_validation() -> None:
    train, held_out = bert(seed=1), bert(seed=9, width=16)
    held_out["input_ids"][3] = 0
    held_out["input_ids"][3, :12] = train["input_ids"][6]  # padded to another width
    held_out["attention_mask"] = (held_out["input_ids"] != PAD).astype(np.int32)
    found = only(check_batch(train, tokenizer=HuggingFaces(), validation=held_out))
    assert (found.rule, found.where, found.amount, found.first) == (
        "overlap",
        "validation",
        "1 of 8",
        "[3] = training row 6",
    )
    assert silent(check_batch(train, tokenizer=HuggingFaces(), validation=bert(seed=9)))
    assert silent(check_batch(["a cat sat down", "yes"], validation=["a dog ran off", "yes"])), "short answers repeat"


def test_the_report() -> None:
    batch = bert()
    report = check_batch(batch | {"attention_mask": 1 - batch["attention_mask"]}, tokenizer=HuggingFaces())
    assert not report and not report.ok and len(report.errors) == 1
    text = str(report)
    assert (
        " BROKEN  the batch (8 rows)" in text and "✗  attention_mask" in text and max(map(len, text.splitlines())) <= 80
    )
    described = report.to_json()
    assert described["verdict"] == "problem" and described["violations"][0]["rule"] == "mask-inverted"
    assert described["taken"] == ["ids input_ids", "mask attention_mask", "vocabulary of 14", "padding 0"]
    with pytest.raises(DataError, match=r"the batch is not fit to train on:\n  attention_mask: expected 1 on tokens"):
        report.raise_if_bad()
    assert check_batch(batch, tokenizer=HuggingFaces()).raise_if_bad()


def test_what_is_done_about_it() -> None:
    batch = bert()
    bad = batch | {"attention_mask": 1 - batch["attention_mask"]}
    with pytest.raises(DataError, match="not fit to train on"):
        check_batch(bad, tokenizer=HuggingFaces(), on_violation="raise")
    with pytest.warns(ExpectationWarning, match="attention_mask: expected 1 on tokens and 0 on padding") as warned:
        check_batch(bad, tokenizer=HuggingFaces(), on_violation="warn")
    assert warned[0].filename == __file__
    assert check_batch(batch, tokenizer=HuggingFaces(), on_violation="raise")
    assert not check_batch(bad, tokenizer=HuggingFaces(), on_violation="record")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"inputs": {}}, "the batch contains no array"),
        (
            {"inputs": {"image": np.zeros((3, 4, 4), np.float32)}},
            "has neither token ids nor text: it has image (float32)",
        ),
        ({"inputs": [[1, 2]], "on_violation": "skip"}, "on_violation='skip': choose one of raise, warn, record"),
        ({"inputs": [[1, 2]], "shifted_by": "me"}, "shifted_by='me': \"model\""),
        ({"inputs": [[1, 2]], "tokenizer": object()}, "a object is not a known tokenizer"),
        ({"inputs": [[1, 2]], "vocabulary": 0}, "vocabulary=0: it must be the number of ids"),
        ({"inputs": [[1, 2]], "vocabulary": []}, "the vocabulary has no tokens"),
        (
            {"inputs": [[1, 2]], "vocabulary": {"a": None}},
            "a vocabulary is a list of tokens, or a dict of ids by token",
        ),
        ({"inputs": {"input_ids": np.array([object()])}}, "input_ids holds objects of type object"),
        ({"inputs": {"input_ids": np.zeros((0, 4), int)}}, "the batch has no rows"),
    ],
)
def test_wrong_calls(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SleuthError) as caught:
        check_batch(**arguments)
    assert sentence in str(caught.value)
