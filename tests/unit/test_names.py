"""Long names in little room: rows that are different look different."""

from __future__ import annotations

import pytest

from tensorsleuth.ui.terminal.charts.long_names import cut_distinct, fit_names, group_names

BERT = [
    f"tf_bert_for_sequence_classification/bert/encoder/layer_._{block}/attention/{end}"
    for block in (0, 1, 11)
    for end in ("self/query", "self/key", "output/dense", "output/LayerNorm")
]


def test_names_that_fit_are_whole() -> None:
    names = ["lm/block_0", "lm/block_1/attention"]
    assert fit_names(names, 20).shown == tuple(names) and not fit_names(names, 20).left_out
    rows, before = group_names(names, 20)
    assert [row.name for row in rows] == names and before == "" and not any(row.heading for row in rows)


def test_what_all_share_is_left_out_and_said() -> None:
    names = [f"tf_bert/bert/encoder/layer_._{block}/attention/self" for block in range(12)]
    front = fit_names(names, 28)
    assert front.shown[:2] == ("layer_._0/attention/self", "layer_._1/attention/self")
    assert front.left_out == "All names begin with tf_bert/bert/encoder/"
    both = fit_names(names, 10)
    assert both.shown == tuple(f"layer_._{block}" for block in range(12))
    assert both.left_out == "All names begin with tf_bert/bert/encoder/ and end with /attention/self"


@pytest.mark.parametrize("room", [8, 12, 20, 38])
def test_rows_differ(room: int) -> None:
    names = [f"language/block_{block}/multi_head_attention_{block}/query" for block in range(24)]
    shown = fit_names(names, room).shown
    assert len(set(shown)) == 24 and max(map(len, shown)) <= room


def test_one_name_is_cut_in_its_middle() -> None:
    assert fit_names(["a_scope/of_a_long_name"], 12).shown == ("a_scop…_name",)


def test_names_are_cut_where_they_stay_different() -> None:
    names = ["the_same_beginning_a_and_the_same_end", "the_same_beginning_b_and_the_same_end"]
    assert len(set(cut_distinct(names, 26))) == 2


@pytest.mark.parametrize("room", [19, 26])
def test_headings_take_what_does_not_fit(room: int) -> None:
    rows, before = group_names(BERT, room)
    heading, whole = "", []
    for row in rows:
        heading = row.heading if row.heading is not None else heading
        assert row.name.startswith("  ") and len(row.name) <= room
        whole.append(f"{before}/{heading}/{row.name.strip()}")
    assert whole == BERT and before == "tf_bert_for_sequence_classification/bert/encoder"


def test_what_is_in_no_group_stands_at_the_margin() -> None:
    rows, _ = group_names(["net/block_0/attention/query", "net/block_0/attention/key", "net/out"], 12)
    assert [(row.heading, row.name) for row in rows] == [
        ("block_0/attention", "  query"),
        (None, "  key"),
        (None, "out"),
    ]


def test_no_escape_sequence_of_a_trace_gets_through() -> None:
    assert "\x1b" not in "".join(fit_names(["a\x1b[31m", "b"], 3).shown + fit_names(["a\x1b[31m"], 30).shown)
