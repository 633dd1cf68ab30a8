"""What holds for any batch: healthy ones are passed in silence, damage is found where it is."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thorough import examples
from tests.unit.token_batches import CLS, FIRST, PAD, SEP, HuggingFaces, masked_labels

from tensorsleuth import SleuthError, check_batch
from tensorsleuth.data.check_data import check
from tensorsleuth.data.tokens.padding import certain_padding

SIZE = 14


@st.composite
def batches(draw: Any) -> dict[str, Any]:
    """[CLS] words [SEP], padded left or right, with its mask in one of the usual types."""
    rows, width, left = draw(st.integers(1, 9)), draw(st.integers(4, 16)), draw(st.booleans())
    ids = np.full((rows, width), PAD, draw(st.sampled_from([np.int32, np.int64, np.int16])))
    for row in ids:
        words = draw(st.lists(st.integers(FIRST, SIZE - 1), min_size=1, max_size=width - 2))
        tokens = [CLS, *words, SEP]
        row[width - len(tokens) if left else 0 :][: len(tokens)] = tokens
    mask = (ids != PAD).astype(draw(st.sampled_from([bool, np.int32, np.int64, np.float32])))
    return {"input_ids": ids, "attention_mask": mask}


@given(batches(), st.sampled_from(["none", "classes", "model", "data", "masked"]), st.booleans())
@settings(max_examples=examples(120), deadline=None)
def test_healthy_batches_are_passed_in_silence(batch: dict[str, Any], labels: str, known: bool) -> None:
    ids = batch["input_ids"]
    moved = np.concatenate([ids[:, 1:], np.full((len(ids), 1), PAD, ids.dtype)], axis=1)
    given: dict[str, Any] = {"tokenizer": HuggingFaces() if known else None, "pad": PAD}
    if labels == "classes":
        given["labels"] = np.arange(len(ids)) % 3
    elif labels == "model":
        batch, given["shifted_by"] = batch | {"labels": masked_labels(ids)}, "model"
    elif labels == "data":
        given |= {"labels": np.where(ids == PAD, -100, masked_labels(moved)), "shifted_by": "data", "causal": True}
    elif labels == "masked":
        batch = batch | {"labels": np.where(ids == FIRST, ids, -100)}
    report = check_batch(batch, **given)
    assert not [one for one in report if one.severity != "note"], report


@given(st.integers(1, 8), st.integers(1, 20), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(50), deadline=None)
def test_rows_without_padding_raise_nothing(rows: int, width: int, seed: int) -> None:
    """Any ids at all, also such as look like padding by chance: nothing that would stop a program."""
    ids = np.random.default_rng(seed).integers(0, 12, (rows, width))
    assert check_batch(ids, vocabulary=12).ok
    assert check_batch({"input_ids": ids, "attention_mask": np.ones_like(ids)}, vocabulary=12).ok
    assert check_batch({"input_ids": ids, "labels": ids}, vocabulary=12, shifted_by="model").ok


@given(batches(), st.data())
@settings(max_examples=examples(80), deadline=None)
def test_damage_is_found_where_it_is(batch: dict[str, Any], data: Any) -> None:
    ids, mask = batch["input_ids"], batch["attention_mask"]
    words = np.argwhere(ids >= FIRST)
    row, column = (int(one) for one in words[data.draw(st.integers(0, len(words) - 1))])
    if data.draw(st.booleans()):
        ids[row, column] = data.draw(st.sampled_from([-3, SIZE, SIZE + 5]))
        rule = "vocabulary"
    else:
        mask[row, column] = 0
        rule = "mask-covers"
    found = [one for one in check_batch(batch, tokenizer=HuggingFaces()) if one.rule == rule]
    assert len(found) == 1 and found[0].broken == 1 and found[0].positions == ((row, column),)


@given(batches(), st.booleans())
@settings(max_examples=examples(50), deadline=None)
def test_what_is_padding_for_certain_is_padding(batch: dict[str, Any], shared: bool) -> None:
    ids = batch["input_ids"]
    marks = certain_padding(ids, np.ones(ids.shape, bool), PAD, shared)
    assert not (marks & (ids != PAD)).any()
    assert shared or marks[:, 1:].sum() == (ids == PAD)[:, 1:].sum(), "all but what a decoder may start with"


@st.composite
def anything(draw: Any) -> Any:
    shape = draw(st.sampled_from([(3, 4), (4, 4), (1, 1), (2, 0), (0, 3), (5,), (2, 3, 4), (2, 3, 1)]))
    dtype = draw(st.sampled_from(["int32", "int64", "uint8", "bool", "float32", "float16", "U3"]))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    return random.integers(-2, 9, shape).astype(dtype)


@given(
    st.dictionaries(
        st.sampled_from(["input_ids", "attention_mask", "labels", "sample_weight", "decoder_input_ids", "x"]),
        anything(),
        min_size=1,
    ),
    st.sampled_from([None, 0, 7]),
    st.sampled_from([None, True, False]),
)
@settings(max_examples=examples(150), deadline=None)
def test_no_batch_is_too_odd(batch: dict[str, Any], pad: int | None, causal: bool | None) -> None:
    """A report, or a sentence that says why there is none."""
    try:
        report = check_batch(batch, pad=pad, causal=causal, vocabulary=8)
    except SleuthError:
        return
    assert str(report) and report.to_json()


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400)
ROWS = st.dictionaries(
    st.sampled_from(["input_ids", "label", "a"]),
    st.recursive(LEAVES, lambda one: st.lists(one, max_size=4), max_leaves=5),
)


@given(st.lists(ROWS, min_size=1, max_size=6))
@settings(max_examples=examples(40), deadline=None)
def test_no_line_of_json_is_too_odd(tmp_path_factory: Any, rows: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.getbasetemp() / "odd.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for look in (lambda: check_batch(path), lambda: check(None, path)):
        with contextlib.suppress(SleuthError):  # a sentence that says why there is no report
            assert str(look())
