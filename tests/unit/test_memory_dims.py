"""Dimensions that know what they are made of, and what ops make of them."""

from __future__ import annotations

from typing import Any

import pytest

from tensorsleuth.analyze.memory.batch_size.dims import (
    BATCH,
    SEQUENCE,
    Dim,
    Dims,
    Factor,
    fixed_dims,
    growth_power,
    reshaped,
    shape_of,
)
from tensorsleuth.analyze.memory.batch_size.shape_rules import OpApplication, dims_of

B, S = Dim((Factor(8, BATCH),)), Dim((Factor(64, SEQUENCE),))
BOTH = Dim((Factor(8, BATCH), Factor(64, SEQUENCE)))


def dims(*parts: Dim | int) -> Dims:
    return tuple(part if isinstance(part, Dim) else fixed_dims([part])[0] for part in parts)


def test_a_reshape_keeps_the_order_of_what_it_is_made_of() -> None:
    flat = reshaped(dims(B, S, 32), (512, 32))
    assert flat == dims(BOTH, 32)
    assert reshaped(dims(BOTH, 96), (8, 64, 3, 8, 4)) == dims(B, S, 3, 8, 4)
    assert reshaped(dims(B, 6), (2, 24)) == (Dim((Factor(2, BATCH),)), Dim((Factor(4), Factor(6))))
    assert reshaped(dims(B, S), (3, 5)) is None
    assert reshaped(dims(B, 10), (5, 16)) is None, "elements of several samples in one row"


@pytest.mark.parametrize(
    ("op", "given", "shape", "attrs", "made"),
    [
        ("AddV2", [dims(B, S, 32), dims(64, 32)], None, {}, dims(B, S, 32)),
        ("Relu", [dims(B, 32)], (8, 32), {}, dims(B, 32)),
        ("MatMul", [dims(BOTH, 32), dims(32, 16)], (512, 16), {"transpose_a": False}, dims(BOTH, 16)),
        ("MatMul", [dims(BOTH, 32), dims(BOTH, 16)], None, {"transpose_a": True}, dims(32, 16)),
        ("MatMul", [dims(B, 32), dims(16, 32)], (8, 16), {}, dims(B, 16)),  # eager: nothing says which is transposed
        ("BatchMatMulV2", [dims(B, 4, S, 16), dims(B, 4, S, 16)], None, {"adj_x": False, "adj_y": True},
         dims(B, 4, S, S)),
        ("Einsum", [dims(B, S, 4, 16), dims(B, S, 4, 16)], None, {"equation": "bqhd,bkhd->bhqk"}, dims(B, 4, S, S)),
        ("Conv2D", [dims(B, 32, 32, 8), dims(3, 3, 8, 64)], (8, 16, 16, 64), {}, dims(B, 16, 16, 64)),
        ("Conv2DBackpropFilter", [dims(B, 32, 32, 8), None, dims(B, 32, 32, 8)], (3, 3, 8, 8), {}, dims(3, 3, 8, 8)),
        ("Conv2DBackpropInput", [None, dims(3, 3, 8, 8), dims(B, 16, 16, 8)], (8, 32, 32, 8), {}, dims(B, 32, 32, 8)),
        ("GatherV2", [dims(1000, 32), dims(B, S)], (8, 64, 32), {}, dims(B, S, 32)),
        ("OneHot", [dims(B)], (8, 10), {}, dims(B, 10)),
        ("Pack", [dims(B, 8), dims(B, 8)], None, {"axis": 1}, dims(B, 2, 8)),
        ("Unpack", [dims(3, B, S)], None, {"axis": 0}, dims(B, S)),
        ("StridedSlice", [dims(B, S, 32)], (8, 32), {"shrink_axis_mask": 2}, dims(B, 32)),
        ("StridedSlice", [dims(B, S)], (8, 63), {}, (B, Dim((Factor(63, SEQUENCE),)))),
        ("SparseSoftmaxCrossEntropyWithLogits", [dims(BOTH, 100), dims(BOTH)], (512,), {}, dims(BOTH)),
        ("SomethingNew", [dims(32, B)], (8, 5), {}, dims(B, 5)),  # by sizes
        ("SomethingNew", [dims(BOTH, 4)], (8, 64, 4), {}, dims(B, S, 4)),  # as many elements
        ("SomethingNew", [None], (8, 5), {}, None),
    ],
)  # fmt: skip
def test_what_an_op_makes(
    op: str, given: list[Dims | None], shape: tuple[int, ...] | None, attrs: dict[str, Any], made: Dims | None
) -> None:
    assert dims_of(OpApplication(op, 0, given, shape, attrs)) == made


def test_axes_and_orders_that_are_written_down() -> None:
    x = dims(B, S, 64)
    assert dims_of(OpApplication("Sum", 0, [x, None], (8, 64), {}, [None, (1,)])) == dims(B, 64)
    assert dims_of(OpApplication("Sum", 0, [x, None], (8, 64), {}, [None, (2,)])) == dims(B, S)
    assert dims_of(OpApplication("Mean", 0, [x, None], None, {"keep_dims": True}, [None, (-1,)])) == dims(B, S, 1)
    assert dims_of(OpApplication("Transpose", 0, [x, None], (64, 8, 64), {}, [None, (2, 0, 1)])) == dims(64, B, S)
    assert dims_of(OpApplication("Reshape", 0, [x, None], None, {}, [None, (-1, 64)])) == dims(BOTH, 64)
    assert dims_of(OpApplication("BroadcastTo", 0, [dims(1), None], (8, 64, 64), {}, (), x)) == x, (
        "told by another's shape"
    )


def test_powers() -> None:
    scores = dims(B, 4, S, S)
    assert (growth_power(scores, BATCH), growth_power(scores, SEQUENCE)) == (1, 2)
    assert shape_of(scores) == (8, 4, 64, 64)
