"""Each finding about tokens, on a batch with one thing wrong and on healthy ones beside it."""

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
    KerasHubs,
    bert,
    gpt,
    masked_labels,
)

from tensorsleuth import DataError, ExpectationWarning, SleuthError, check_batch
from tensorsleuth.model.violation import Violation
from tensorsleuth.tokens.report import TokenReport


def only(report: TokenReport) -> Violation:
    assert len(report) == 1, report
    return report.violations[0]


def of_rule(report: TokenReport, rule: str) -> Violation:
    found = [one for one in report if one.rule == rule]
    assert len(found) == 1, report
    return found[0]


def silent(report: TokenReport) -> bool:
    """No error, no warning, no note."""
    assert report.violations == (), report
    return bool(report)


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
    assert "Use the tokenizer that the model was made for" in str(found.change)


@pytest.mark.parametrize(
    ("number", "vocabulary", "said", "change"),
    [
        (-1, None, "ids of 0 or more", "Negative ids are not looked up"),
        (-100, 14, "ids from 0 to 13", "-100 is for labels that do not count"),
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
    assert "81% never come in 6,000 tokens; the largest id is 19" in found.found
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
        and found.change == "Make the mask after padding: ids != 0."
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
    assert (found.rule, found.severity, found.found) == ("mask-inverted", "error", "it is the other way round")
    assert found.change == "Turn it round: 1 - attention_mask, or ids != 0."


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
    for rows in (8, 12):  # one for all rows, of what each position may look at
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
    ("rows", "shape", "words"), [(12, (12,), "passes by luck"), (8, (12,), "each position"), (8, (8,), "each row")]
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
    assert found.first == "[2, 3] -1, [2, 4] -1" and "say ignore=-1" in str(found.change)
    assert silent(check_batch(ids, labels, vocabulary=50, causal=False, ignore=-1))
    labels[2, 3:5] = 50
    assert "such as 50, in 1 of 8 rows" in of_rule(check_batch(ids, labels, vocabulary=50), "label-range").found


SHIFTS = {0: "t", 1: "t + 1", 2: "t + 2", -1: "t - 1"}


@pytest.mark.parametrize(
    ("offset", "said", "severity", "words"),
    [
        (0, {}, "note", "Right where the model moves them"),
        (0, {"causal": True}, "note", "Right where the model moves them"),
        (0, {"shifted_by": "data"}, "error", "The model sees the answer"),
        (1, {"shifted_by": "model"}, "error", "The model moves them once more"),
        (2, {"causal": True}, "error", "They were moved twice"),
        (2, {}, "warning", "They were moved twice"),
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
    assert beside.severity == "note" and "move labels once more" in str(beside.change)
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
    assert keras.severity == "warning" and "say ignore=0" in str(keras.change), "Keras may mask it by itself"
    assert silent(check_batch((batch, ids), tokenizer=HuggingFaces(), shifted_by="model", ignore=0))


def test_padding_of_the_labels_themselves() -> None:
    batch, written = bert(), bert(width=20, seed=5)["input_ids"]
    found = only(check_batch(batch | {"labels": written}, tokenizer=HuggingFaces()))
    assert (found.rule, found.severity) == ("loss-padding", "error") and found.broken == int((written == PAD).sum())


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
        ({"inputs": {}}, "there is nothing in the batch"),
        (
            {"inputs": {"image": np.zeros((3, 4, 4), np.float32)}},
            "has neither token ids nor text: it has image (float32)",
        ),
        ({"inputs": [[1, 2]], "on_violation": "skip"}, "on_violation='skip': choose one of raise, warn, record"),
        ({"inputs": [[1, 2]], "shifted_by": "me"}, "shifted_by='me': \"model\""),
        ({"inputs": [[1, 2]], "tokenizer": object()}, "a object is no tokenizer that can be asked"),
        ({"inputs": [[1, 2]], "vocabulary": 0}, "vocabulary=0: it is how many ids there are"),
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
