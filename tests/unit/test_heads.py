"""What is remarkable about heads: each with a healthy one beside it that is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.inside_run import STEPS, InsideRun, causal, weights

from tensorsleuth.analyze.attention.heads import judge
from tensorsleuth.analyze.attention.remark import AttentionRemark
from tensorsleuth.core.array import Array
from tensorsleuth.trace.reader import Trace

Change = Callable[[Array, int], None]
IDS = np.random.default_rng(5).integers(3, 40, (3, 12)).astype(np.int32)
SHIFTED = np.concatenate([IDS[:, 1:], np.full((3, 1), -100, np.int32)], 1)
PADDED = IDS.copy()
PADDED[0, 8:] = PADDED[1, 10:] = PADDED[2, 7:] = 0


def looks(seed: int, change: Change | None = None, masked: Any = None, sharp: float = 3.0) -> list[Array]:
    made = [weights(seed + look, masked=masked, sharp=sharp) for look in range(len(STEPS))]
    for look, one in enumerate(made):
        if change is not None:
            change(one, look)
    return made


def judged(path: Path, layers: dict[str, list[Array]], **inputs: Array) -> list[AttentionRemark]:
    run = InsideRun(path / "run")
    for name, made in layers.items():
        run.attention(name, made)
    for name, value in inputs.items():
        run.input(f"train_step/{name}", value)
    inside = Trace(run.write()).inside()
    assert len(inside.attention) == len(layers) and len(inside.inputs) == len(inputs)
    return judge(inside.attention, inside.inputs)


def nan_row(one: Array, look: int) -> None:
    one[0, 1, 3] = np.nan


def zero_row(one: Array, look: int) -> None:
    one[:, 2, 5] = 0


def all_zero(one: Array, look: int) -> None:
    one[:, 2] = 0


def off_sum(one: Array, look: int) -> None:
    one[:, 0] *= 1.1


def collapsed(one: Array, look: int) -> None:
    one[:, 3] = 0.02 / 11
    one[:, 3, :, 4] = 0.98


def sink(one: Array, look: int) -> None:
    one[:, 3] = 0.02 / 11
    one[:, 3, :, 0] = 0.98


def dead(one: Array, look: int) -> None:
    one[:, 1] = 1 / 12


def blind(one: Array, look: int) -> None:
    one[:, 1] = one[:, 1, :1]  # every query has the weights of the first


def in_the_end(one: Array, look: int) -> None:
    if look > 7:
        dead(one, look)


@pytest.mark.parametrize(
    ("change", "what", "severity", "heads", "words"),
    [
        (nan_row, "nan-rows", "error", (1,), "the weights of 1 query are NaN or infinite"),
        (zero_row, "zero-rows", "note", (2,), "the weights of 3 queries are zero."),
        (all_zero, "zero-rows", "error", (2,), "the weights of 36 queries are all zero"),
        (off_sum, "off-sum", "error", (0,), "differs from 1 by 0.1"),
        (collapsed, "collapsed", "note", (3,), "98% of their weight to one key"),
        (sink, "collapsed", "note", (3,), "98% of their weight to the first key"),
        (dead, "dead", "note", (1,), "not depended on the query since training began"),
        (blind, "dead", "note", (1,), "not depended on the query since training began"),
        (in_the_end, "uniform", "note", (1,), "by now all keys get the same weight"),
    ],
)
def test_a_head_that_is_remarkable(
    tmp_path: Path, change: Change, what: str, severity: str, heads: tuple[int, ...], words: str
) -> None:
    (found,) = judged(tmp_path, {"lm/block_0/mha": looks(1, change), "lm/block_1/mha": looks(50)})
    assert (found.what, found.severity, found.layer, found.heads) == (what, severity, "lm/block_0/mha", heads)
    assert words in found.words and found.step == 300 and found.head == heads[0]
    assert (found.file, found.line) == ("/model/lm.py", 24) and len(found.evidence) == 1


def test_a_causal_head_that_chooses_nothing_is_dead(tmp_path: Path) -> None:
    def even(one: Array, look: int) -> None:
        one[:, 2] = np.tril(np.ones((12, 12))) / np.arange(1, 13)[:, None]

    (found,) = judged(tmp_path, {"a/mha": looks(1, even, causal())})
    assert (found.what, found.heads) == ("dead", (2,))


def test_healthy_attention_is_not_remarkable(tmp_path: Path) -> None:
    padding = (PADDED == 0)[:, None, None]
    both = padding | causal()
    layers = {f"lm/block_{at}/mha": looks(20 * at, masked=both) for at in range(3)}
    mask = (PADDED != 0).astype(np.int32)
    assert judged(tmp_path, layers, ids=PADDED, attention_mask=mask, labels=SHIFTED) == []


def test_before_a_model_is_trained_all_heads_are_even(tmp_path: Path) -> None:
    """The weights of a Transformer that begins: nobody chooses yet, and that is no fault of a head."""
    assert judged(tmp_path, {"a/mha": looks(1, sharp=0.01), "b/mha": looks(40, sharp=0.01)}) == []


def test_one_layer_that_looks_ahead(tmp_path: Path) -> None:
    masks = [causal(), None, causal()]
    layers = {f"lm/block_{at}/mha": looks(20 * at, masked=mask) for at, mask in enumerate(masks)}
    (found,) = judged(tmp_path, layers)
    assert (found.what, found.severity, found.layer) == ("looks-ahead", "error", "lm/block_1/mha")
    assert found.heads == (0, 1, 2, 3) and found.who == "all 4 heads" and found.head is None
    assert "while the other 2 of this kind look back only" in found.words


def test_an_encoder_may_look_ahead_beside_a_decoder(tmp_path: Path) -> None:
    layers = {f"decoder/block_{at}/mha": looks(20 * at, masked=causal()) for at in range(3)}
    assert judged(tmp_path, {"encoder/block_0/mha": looks(90), **layers}) == []


def test_labels_that_are_the_next_tokens_need_a_causal_mask(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, {"mha": looks(1)}, ids=IDS, labels=SHIFTED)
    assert found.what == "looks-ahead" and "the labels are the ids shifted by one" in found.words
    assert judged(tmp_path / "other", {"mha": looks(1)}, ids=IDS, labels=IDS) == []


def test_a_prefix_may_be_read_whole(tmp_path: Path) -> None:
    """Behind it every query looks back only; a mask that lets each see the next token is no prefix."""
    prefix, next_too = causal(), causal()
    prefix[:6, :6] = next_too[np.arange(11), np.arange(11) + 1] = False
    assert judged(tmp_path, {"mha": looks(1, masked=prefix)}, ids=IDS, labels=SHIFTED) == []
    (found,) = judged(tmp_path / "other", {"mha": looks(1, masked=next_too)}, ids=IDS, labels=SHIFTED)
    assert found.what == "looks-ahead" and "the labels are the ids shifted by one" in found.words


@pytest.mark.parametrize(("names", "severity"), [({"attention_mask": PADDED != 0}, "error"), ({}, "note")])
def test_weight_on_padding(tmp_path: Path, names: dict[str, Array], severity: str) -> None:
    (found,) = judged(tmp_path, {"mha": looks(1)}, input_ids=PADDED, **names)
    assert (found.what, found.severity, found.heads) == ("on-padding", severity, (0, 1, 2, 3))
    assert "(of input_ids)" in found.words and 0.05 < found.evidence["padding"] < 0.6


def test_padding_that_only_padding_looks_at_is_fine(tmp_path: Path) -> None:
    """Padding behind the tokens is out of sight in a causal model."""
    assert judged(tmp_path, {"mha": looks(1, masked=causal())}, input_ids=PADDED) == []


def test_padding_of_keys_that_were_put_together(tmp_path: Path) -> None:
    from tests.unit.inside_run import kept_bytes

    from tensorsleuth.analyze.attention.batch import AttentionInputs
    from tensorsleuth.analyze.attention.padding import padding_share
    from tensorsleuth.trace.series.attention import read_sample

    run = InsideRun(tmp_path / "run")
    run.input("f/input_ids", PADDED)
    (ids,) = AttentionInputs(Trace(run.write()).inside().inputs, 300).ids_matching(3, 12)
    whole = padding_share(read_sample(kept_bytes(weights(1))), ids)
    pairs = padding_share(read_sample(kept_bytes(weights(1), 2)), ids)
    assert whole is not None and pairs is not None
    np.testing.assert_allclose(whole, pairs, atol=1e-5)  # both samples have an even number of tokens


def test_queries_that_see_nothing_do_not_look_ahead(tmp_path: Path) -> None:
    """Keras masks the queries of padding, too: all their keys get the same, later ones as well."""
    nothing = (PADDED == 0)[:, None, :, None] | (PADDED == 0)[:, None, None]
    masks = [nothing | causal(), causal(), causal()]
    layers = {f"lm/block_{at}/mha": looks(20 * at, masked=mask) for at, mask in enumerate(masks)}
    assert judged(tmp_path, layers, input_ids=PADDED, labels=SHIFTED) == []


def test_two_towers_have_paddings_of_their_own(tmp_path: Path) -> None:
    """Weight on what is padding on the left says nothing of attention to the right."""
    right = IDS.copy()
    right[0, 10:] = right[1, 11:] = right[2, 9:] = 0
    made = looks(1, masked=(right == 0)[:, None, None])
    assert judged(tmp_path, {"mha": made}, left=PADDED, right=right) == []
    (found,) = judged(tmp_path / "other", {"mha": looks(1)}, left=PADDED, right=right)
    assert found.what == "on-padding" and "(of left or right)" in found.words
