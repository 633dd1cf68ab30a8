"""What a recording's batches and attention weights say about masks and padding, without TensorFlow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.violation import Violation
from tensorsleuth.diagnose.attention.causal_leak import all_look_ahead, label_shift
from tensorsleuth.diagnose.attention.masks.observed_mask import ObservedMask
from tensorsleuth.diagnose.inputs.input_parts import InputPart, slices_of
from tensorsleuth.diagnose.inputs.model_inputs import TableLookup
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences, repeated_violations
from tensorsleuth.diagnose.inputs.tokens import token_ids, token_rows
from tensorsleuth.diagnose.inputs.tokens.special_tokens import SpecialTokenIds, special_tokens_of

WIDTH, STEPS = 8, (0, 1, 2)


def series(batches: list[Any], name: str = "train_step/ids") -> Any:
    shape, value = lambda look: batches[look].shape, lambda look: batches[look]
    return SimpleNamespace(name=name, steps=np.arange(len(batches)), value=value, shape=shape)


def sequences(batches: list[Any], vocabulary: int = 40) -> TokenSequences:
    return TokenSequences(TableLookup(InputPart(series(batches)), SimpleNamespace(), "words", vocabulary))  # type: ignore[arg-type]


def padded(rows: int = 8, seed: int = 1, pad: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    ids = rng.integers(5, 40, (rows, WIDTH))
    lengths = 3 + np.arange(rows) % (WIDTH - 3)
    ids[np.arange(WIDTH)[None] >= lengths[:, None]] = pad
    return ids


def attending(masks: list[Any], batch: int = 8) -> Any:
    """Attention of two heads; masks are True where a query may look, [samples, queries, keys]."""
    return _looks([_weights(mask) for mask in masks], heads=2, batch=batch)


def _looks(looks: list[Any], **sizes: int) -> Any:
    """Looks at an attention with these weights."""
    kept = [SimpleNamespace(weights=one, scale=(1, 1), columns=one.shape[-1], **sizes) for one in looks]
    return SimpleNamespace(steps=np.arange(len(looks)), kept=lambda look: kept[look])


def _weights(mask: Any) -> Any:
    """As softmax gives them; those of a query that may look nowhere are all the same."""
    scores = np.random.default_rng(4).uniform(0.5, 1.0, (len(mask), 2, *mask.shape[1:])) * mask[:, None]
    sums = scores.sum(-1, keepdims=True)
    return np.where(sums > 0, scores / np.maximum(sums, 1e-9), 1 / mask.shape[-1]).astype("float32")


def rules(masks: list[Any], batches: list[Any]) -> list[str]:
    seen = ObservedMask(attending(masks), sequences(batches), "the mask")
    lucky = [one.violation.rule for one in repeated_violations([*STEPS], seen.laid_over_queries, ("token-shape",))]
    wrong = repeated_violations([*STEPS], seen.judge, ("mask-inverted", "mask-open", "mask-covers"))
    return lucky or [one.violation.rule for one in wrong]


def over_queries(keys: Any) -> Any:
    return np.repeat(keys[:2, None, :], WIDTH, axis=1)


def test_padding_is_sure_where_rows_end_in_it_with_many_lengths() -> None:
    assert sequences([padded(seed=seed) for seed in STEPS]).padding_id == 0
    assert sequences([padded(seed=seed, pad=3) for seed in STEPS]).padding_id == 3


@pytest.mark.parametrize("spoil", ["inside", "few", "one length"])
def test_padding_is_not_sure(spoil: str) -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    if spoil == "inside":
        batches[1][0, 1] = 0
    elif spoil == "few":
        batches = [batch[:2] for batch in batches]
    else:
        for batch in batches:
            batch[batch == 0] = 7
            batch[:, -2:] = 0
    assert sequences(batches).padding_id is None


def of_few_lengths(seed: int) -> Any:
    """Rows that end in one or two paddings, as short sentences do."""
    batch = padded(seed=seed)
    batch[batch == 0] = 7
    batch[:, -1] = 0
    batch[::2, -2] = 0
    return batch


def looking(hidden: Any, batches: list[Any]) -> Any:
    """Weights of two samples that are even over the keys that a mask does not hide."""
    kept = [~hidden(batch[:2]) for batch in batches]
    weights = [np.repeat((one / np.maximum(one.sum(-1, keepdims=True), 1))[:, None], 2, axis=1) for one in kept]
    looks = [SimpleNamespace(scale=(1, 1), weights=one) for one in weights]
    return SimpleNamespace(steps=[*STEPS], kept=lambda look: looks[look])


def test_padding_of_few_lengths_is_only_likely() -> None:
    one = sequences([of_few_lengths(seed) for seed in STEPS])
    assert (one.padding_id, one.likely_padding_id) == (None, 0)
    assert sequences([padded(seed=seed) for seed in STEPS]).likely_padding_id == 0


def test_a_mask_that_hides_only_later_padding_looks_ahead() -> None:
    """As with `tf.minimum` in place of `tf.maximum`; the last token of a row has nothing to look at."""
    batches = [of_few_lengths(seed) for seed in STEPS]
    later = ~np.tri(WIDTH, dtype=bool)
    both = looking(lambda ids: (ids == 0)[:, None, :] & later, batches)
    assert all_look_ahead(both, sequences(batches))


def test_a_prefix_that_is_read_whole_does_not_look_ahead() -> None:
    batches = [of_few_lengths(seed) for seed in STEPS]
    later = ~np.tri(WIDTH, dtype=bool)
    later[:, : WIDTH // 2] = False
    prefix = looking(lambda ids: np.repeat(later[None], len(ids), 0), batches)
    assert not all_look_ahead(prefix, sequences(batches))


def test_numbers_of_positions_and_small_tables_are_no_text() -> None:
    positions = np.tile(np.arange(WIDTH), (4, 1))
    assert not sequences([positions] * 3).is_text
    assert not sequences([padded(seed=seed) % 2 for seed in STEPS], vocabulary=2).is_text
    assert sequences([padded(seed=seed) for seed in STEPS]).is_text


def test_a_mask_that_fits_is_fine_also_where_it_looks_back_only() -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    right = [over_queries(batch != 0) for batch in batches]
    assert rules(right, batches) == []
    assert rules([mask & np.tri(WIDTH, dtype=bool) for mask in right], batches) == []


def test_queries_that_are_padding_do_not_count() -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    masks = [over_queries(batch != 0) | (batch[:2, :, None] == 0) for batch in batches]
    assert rules(masks, batches) == []


def test_queries_that_may_look_nowhere_do_not_count() -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    masks = [over_queries(batch != 0) & (np.arange(WIDTH) > 0)[None, :, None] for batch in batches]
    assert rules(masks, batches) == []


def test_masks_that_are_wrong() -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    assert rules([over_queries(batch == 0) for batch in batches], batches) == ["mask-inverted"]
    assert rules([over_queries(batch >= 0) for batch in batches], batches) == ["mask-open"]
    cut = [over_queries((batch != 0) & (np.arange(WIDTH) > 0)) for batch in batches]
    assert rules(cut, batches) == ["mask-covers"]


def heads_masked(batches: list[Any], kept: Any) -> Any:
    """Weights of two samples, as many heads as samples; `kept` are masks [samples, heads, keys] of a batch."""
    rng = np.random.default_rng(5)
    looks = []
    for batch in batches:
        scores = rng.uniform(0.5, 1.0, (2, len(batch), WIDTH, WIDTH)) * kept(batch)[:2, :, None]
        weights = (scores / scores.sum(-1, keepdims=True)).astype("float32")
        looks.append(weights)
    return _looks(looks, heads=len(batch), batch=len(batch))


@pytest.mark.parametrize("wrong", [True, False])
def test_a_mask_of_samples_laid_over_heads(wrong: bool) -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    axis = 0 if wrong else 1
    heads = heads_masked(batches, lambda batch: np.repeat(np.expand_dims(batch != 0, axis), len(batch), axis))
    seen = ObservedMask(heads, sequences(batches), "the mask")
    found = [one.violation for one in repeated_violations([*STEPS], seen.laid_over_heads, ("token-shape",))]
    assert [one.expected for one in found] == (["shape [8, 1, 1, 8]"] if wrong else [])


def test_a_mask_of_samples_laid_over_queries() -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    laid = [np.repeat((batch != 0)[None], 2, axis=0) for batch in batches]
    assert rules(laid, batches) == ["token-shape"]


def of_queries(batch: Any) -> Any:
    return np.repeat(batch[:2, :, None] != 0, WIDTH, axis=2)


def test_a_mask_of_queries_instead_of_keys() -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    seen = ObservedMask(attending([of_queries(batch) for batch in batches]), sequences(batches), "the mask")
    (found,) = seen.masks_queries(0, (8, WIDTH, 1)) or []
    assert found.rule == "mask-of-queries" and found.expected.startswith("[8, 1, 8]")
    assert found.found.startswith("[8, 8, 1], a row for each query")
    assert "mask[:, tf.newaxis, :]" in (found.change or "")


@pytest.mark.parametrize("right", ["keys", "keys and queries", "none"])
def test_other_masks_are_none_of_queries(right: str) -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    keys = [over_queries(batch != 0) for batch in batches]
    both = [mask & of_queries(batch) for mask, batch in zip(keys, batches, strict=True)]
    masks = {"keys": keys, "keys and queries": both, "none": [mask | True for mask in keys]}[right]
    seen = ObservedMask(attending(masks), sequences(batches), "the mask")
    assert [seen.masks_queries(step, None) for step in STEPS] == [[], [], []]


def test_how_much_weight_is_on_padding() -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    even = [np.ones((2, WIDTH, WIDTH), bool) for _ in STEPS]
    seen = ObservedMask(attending(even), sequences(batches), "the mask")
    share = np.mean([(batch[:2] == 0)[(batch[:2] == 0).any(1)].mean() for batch in batches])
    assert seen.weight_on_padding() == pytest.approx(share, abs=0.1)
    masked = ObservedMask(attending([over_queries(batch != 0) for batch in batches]), sequences(batches), "the mask")
    assert masked.weight_on_padding() == 0.0


def test_positions_are_of_the_batch() -> None:
    batch = padded(rows=16)
    batch[0] = np.arange(5, 5 + WIDTH)  # the first sample has no padding
    found = ObservedMask(attending([over_queries(batch >= 0)], len(batch)), sequences([batch]), "the mask").judge(0)
    assert found is not None
    assert found[0].positions[0] == (1, int(np.flatnonzero(batch[1] == 0)[0]))


def test_a_single_odd_batch_is_no_finding() -> None:
    wrong = Violation("all-padding", "ids", "a token in every row", "none")
    odd = {0: [wrong], 1: [], 2: []}
    assert list(repeated_violations([*STEPS], odd.get, ("all-padding",))) == []
    most = {0: [wrong], 1: [wrong], 2: []}
    assert [one.samples for one in repeated_violations([*STEPS], most.get, ("all-padding",))] == [2]
    assert list(repeated_violations([0], {0: [wrong]}.get, ("all-padding",))) == []


def test_how_far_labels_are_moved() -> None:
    ids = [padded(seed=seed) for seed in STEPS]
    for offset in (0, 1, -1):
        labels = {step: np.roll(batch, -offset, axis=1) for step, batch in enumerate(ids)}
        assert label_shift(sequences(ids), labels) == offset
    assert label_shift(sequences(ids), {step: padded(seed=9) for step in STEPS}) is None


def test_what_a_step_cuts_itself() -> None:
    tokens = [padded(seed=seed) for seed in STEPS]
    read, said = (
        InputPart(series(tokens), (slice(None), slice(0, -1))),
        InputPart(series(tokens), (slice(None), slice(1, None))),
    )
    assert read.values()[1].tolist() == tokens[1][:, :-1].tolist()
    one = TokenSequences(TableLookup(read, SimpleNamespace(), "words", 40))  # type: ignore[arg-type]
    assert label_shift(one, said.values()) == 1


def test_a_slice_as_the_graph_has_it() -> None:
    """`tokens[:, 1:]`, and one that takes a dimension away."""

    def node(kind: str, **attrs: Any) -> Any:
        inputs = ((-1, 0), (0, 0), (1, 0), (2, 0)) if kind == "StridedSlice" else ()
        return SimpleNamespace(type=kind, attrs=attrs, inputs=inputs)

    numbers = [node("Const", value=one) for one in (["0", "1"], ["0", "0"], ["1", "1"])]
    for attrs, expected in (({}, (slice(None, None, 1), slice(1, None, 1))), ({"shrink_axis_mask": 1}, None)):
        cut = node("StridedSlice", begin_mask=1, end_mask=3, **attrs)
        spot = SimpleNamespace(graph_node=cut, function=SimpleNamespace(nodes=[*numbers, cut]))
        assert slices_of(spot) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("train_step/ids", "ids"),
        ("multi_step_on_iterator/0", "x"),
        ("multi_step_on_iterator/0/1", "x[1]"),
        ("one_step_on_iterator/0/token_ids", 'x["token_ids"]'),
        ("multi_step_on_iterator/1", "y"),
    ],
)
def test_names_are_those_of_the_program(name: str, shown: str) -> None:
    assert program_input_name(name) == shown


def started(rows: int, lost: float, seed: int) -> Any:
    """Padded rows that begin with 4, and as many without padding, of which a share has lost it."""
    short, full = padded(rows, seed), np.random.default_rng(seed).integers(5, 40, (rows, WIDTH))
    short[:, 0] = 4
    full[round(lost * rows) :, 0] = 4
    return np.concatenate([short, full])


@pytest.mark.parametrize(("lost", "start"), [(1.0, 4), (0.95, 4), (0.5, None), (0.0, None)])
def test_what_padded_rows_begin_with_and_long_ones_lack_was_cut_off(lost: float, start: int | None) -> None:
    assert token_ids._cut_off(sequences([started(20, lost, seed) for seed in STEPS])) == start


def test_windows_of_texts_and_ids_that_come_anywhere_are_not_cut_off() -> None:
    batches = [started(20, 1.0, seed) for seed in STEPS]
    batches[1][3, 0] = 7  # the last window of a text: padded, and it begins anywhere
    assert token_ids._cut_off(sequences(batches)) is None
    batches = [started(20, 1.0, seed) for seed in STEPS]
    batches[2][-1, 5] = 4
    assert token_ids._cut_off(sequences(batches)) is None


LOOKS = range(8)


def whole(seed: int, longest: int, width: int = 12, empty: int = 0) -> Any:
    """Rows that begin with 1 and end with 2, cut at the width; the last of them have nothing in between."""
    rng = np.random.default_rng(seed)
    ids = np.zeros((32, width), int)
    for row in ids:
        text = [1, *rng.integers(5, 40, rng.integers(1, longest)), 2][:width]
        row[: len(text)] = text
    if empty:
        ids[-empty:] = [1, 2] + [0] * (width - 2)
    return ids


def test_what_all_padded_rows_begin_and_end_with_is_special() -> None:
    assert special_tokens_of(sequences([whole(seed, 24) for seed in LOOKS])) == SpecialTokenIds(1, 2)
    assert special_tokens_of(sequences([whole(seed, 24)[:, ::-1] for seed in LOOKS])) == SpecialTokenIds(
        2, 1
    )  # padding before
    assert special_tokens_of(sequences([whole(0, 24)[:16]] * 2)) == SpecialTokenIds()  # too few rows
    pairs = [whole(seed, 24) for seed in LOOKS]
    pairs[1][3, 2] = 2  # as between two sentences
    assert special_tokens_of(sequences(pairs)) == SpecialTokenIds(1, None)
    assert special_tokens_of(sequences([padded(40, seed) for seed in STEPS])) == SpecialTokenIds()


@pytest.mark.parametrize(("longest", "told"), [(40, ["truncated"]), (12, []), (9, [])])
def test_most_rows_lost_the_end_that_padded_ones_have(longest: int, told: list[str]) -> None:
    one = sequences([whole(seed, longest) for seed in LOOKS])
    found = list(token_rows._truncated(one, special_tokens_of(one)))
    assert [each.violation.rule for each in found] == told
    assert all(each.violation.severity == "warning" and each.samples == len(LOOKS) for each in found)


def test_windows_of_one_long_text_are_not_cut() -> None:
    rows = [np.random.default_rng(seed).integers(5, 40, (32, 12)) for seed in STEPS]
    assert list(token_rows._truncated(sequences(rows), special_tokens_of(sequences(rows)))) == []


@pytest.mark.parametrize(("empty", "severity"), [((4, 4, 4), "error"), ((1, 1, 0), "note"), ((12, 0, 0), "note")])
def test_rows_of_special_tokens_only(empty: tuple[int, ...], severity: str) -> None:
    one = sequences([whole(seed, 9, empty=count) for seed, count in enumerate(empty)])
    (found,) = token_rows._empty(one, special_tokens_of(one))
    assert (found.violation.rule, found.violation.severity) == ("empty", severity)
    assert (found.violation.broken, found.violation.total) == (sum(empty), 96)


def test_where_only_the_end_is_known_empty_rows_are_a_note() -> None:
    batches = [whole(seed, 9, empty=4)[:, 1:] for seed in STEPS]
    (found,) = token_rows._empty(sequences(batches), special_tokens_of(sequences(batches)))
    assert found.violation.severity == "note"


@pytest.mark.parametrize("empty", [0, 1])
def test_a_single_empty_row_is_none(empty: int) -> None:
    one = sequences([whole(seed, 9, empty=empty if seed == 0 else 0) for seed in STEPS])
    assert list(token_rows._empty(one, special_tokens_of(one))) == []


def test_looks_of_another_width_than_the_ids_say_nothing() -> None:
    batches = [padded(seed=seed) for seed in STEPS]
    seen = ObservedMask(attending([over_queries(batch != 0)[..., :-1] for batch in batches]), sequences(batches), "m")
    assert [seen.judge(step) for step in STEPS] == [None] * len(STEPS)
