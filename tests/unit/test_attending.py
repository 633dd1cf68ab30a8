"""Which axis a product of attention weights sums over, and lists of axes that a graph computes."""

from __future__ import annotations

from typing import Any

import pytest

from tensorsleuth.core.catalog import Function, Node
from tensorsleuth.diagnose.attention.attention_graph import _product_axes, _transposed_axis
from tensorsleuth.diagnose.attention.key_inputs import keys_slot
from tensorsleuth.diagnose.graph.constant_folding import fold_constants


def node(kind: str, inputs: tuple[int, ...] = (), **attrs: Any) -> Node:
    return Node(kind, kind, "", tuple((at, 0) for at in inputs), (), attrs, 0, None, (3,), 0)


def function(*nodes: Node) -> Function:
    return Function(1, "f", 1, (), (), {}, nodes, (), "train", len(nodes))


@pytest.mark.parametrize(
    ("made", "slot", "axis", "sums"),
    [
        (node("BatchMatMulV2", adj_x=False, adj_y=False), 0, -1, True),
        (node("BatchMatMulV2", adj_x=False, adj_y=False), 0, -2, False),
        (node("BatchMatMulV2", adj_x=True, adj_y=False), 0, -2, True),
        (node("BatchMatMulV2", adj_x=False, adj_y=False), 1, -2, True),
        (node("BatchMatMulV2", adj_x=False, adj_y=True), 1, -1, True),
        (node("Einsum", equation="BNTS,BSNH->BTNH"), 0, -1, True),
        (node("Einsum", equation="BNTS,BSNH->BTNH"), 0, -2, False),
        (node("Einsum", equation="BSNH,BNTS->BTNH"), 1, -1, True),
        (node("Einsum", equation="...ts,...sh->...th"), 0, -2, False),
    ],
)
def test_a_product_sums_over_an_axis(made: Node, slot: int, axis: int, sums: bool) -> None:
    assert (_product_axes(made, slot, axis)[0] == axis) is sums


@pytest.mark.parametrize(
    ("made", "slot", "axes"),
    [
        (node("BatchMatMulV2", adj_x=False, adj_y=False), 0, (-1, -2)),
        (node("BatchMatMulV2", adj_x=True, adj_y=False), 0, (-2, -1)),
        (node("Einsum", equation="BNTS,BSNH->BTNH"), 0, (-1, -2)),
        (node("Einsum", equation="BSNH,BQNS->BQNH"), 1, (-1, -3)),
    ],
)
def test_the_axes_of_keys_and_of_queries(made: Node, slot: int, axes: tuple[int, int]) -> None:
    assert _product_axes(made, slot, -4) == axes


def test_a_transpose_takes_an_axis_along() -> None:
    assert _transposed_axis([0, 1, 3, 2], -1) == -2
    assert _transposed_axis([0, 2, 1, 3], -1) == -1
    assert _transposed_axis([0, 0], -1) is None
    assert _transposed_axis(None, -1) is None


def test_the_order_that_softmax_computes_for_its_axis_is_known() -> None:
    """As `tf.nn.softmax(x, axis=2)` has it for four axes: range(0, 2), rank - 1, range(3, rank - 1), 2."""
    made = function(
        node("Const", value=["4"]), node("Const", value=["1"]), node("Sub", (0, 1)),
        node("Const", value=["0"]), node("Const", value=["2"]), node("Range", (3, 4, 1)),
        node("Const", value=["3"]), node("Range", (6, 2, 1)), node("Pack", (2,)),
        node("ConcatV2", (5, 8, 7, 4, 3)),
    )  # fmt: skip
    assert fold_constants(made, 9) == [0, 1, 3, 2]


def test_what_is_computed_of_data_is_not_known() -> None:
    made = function(node("Shape"), node("Const", value=["1.5"]), node("Sub", (0, 1)))
    assert fold_constants(made, 0) is None
    assert fold_constants(made, 1) is None
    assert fold_constants(made, 2) is None
    assert fold_constants(made, -1) is None


def test_what_is_computed_of_shapes_is_known_where_they_were_seen() -> None:
    """As `tf.reshape(x, (tf.shape(x)[0], 4, tf.shape(x)[1], 16))` has it."""
    one = {"shrink_axis_mask": 1}
    made = function(
        node("Shape", (-1,)), node("Const", value=["0"]), node("Const", value=["1"]), node("Const", value=["2"]),
        node("StridedSlice", (0, 1, 2, 2), **one), node("StridedSlice", (0, 2, 3, 2), **one),
        node("Const", value=["4"]), node("Const", value=["16"]), node("Pack", (4, 6, 5, 7)),
        node("StridedSlice", (0, 1, 3, 2), begin_mask=1), node("Prod", (9, 1)),
    )  # fmt: skip
    assert fold_constants(made, 8, shape_of=lambda number: (8, 12, 64)) == [8, 4, 12, 16]
    assert fold_constants(made, 10, shape_of=lambda number: (8, 12, 64)) == [96]
    assert fold_constants(made, 8) is None


@pytest.mark.parametrize(
    ("equation", "slot"),
    [("", 1), ("bhqd,bhkd->bhqk", 1), ("aecd,abcd->acbe", 0), ("bkd,bqd->bqk", 0)],
)
def test_which_operand_the_keys_are(equation: str, slot: int) -> None:
    assert keys_slot(equation) == slot
