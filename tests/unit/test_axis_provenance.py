"""Where axes go when a tensor is reshaped and transposed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tensorsleuth.diagnose.attention.heads.axis_provenance import (
    AxisPart,
    has_origin,
    initial_axes,
    reshape_axes,
    size_of_origin,
    transpose_axes,
)

BATCH, TIME, FEATURES = range(3)


def grain(origin: int, size: int) -> AxisPart:
    return AxisPart(frozenset([origin]), size)


def test_heads_that_are_split_and_turned_keep_time_whole() -> None:
    axes = reshape_axes(initial_axes((8, 12, 64)), (8, 12, 4, 16))
    assert axes is not None
    turned = transpose_axes(axes, (0, 2, 1, 3))
    assert turned is not None and turned[2] == (grain(TIME, 12),) and turned[1] == (grain(FEATURES, 4),)


def test_heads_that_are_only_split_mix_time_and_features() -> None:
    axes = reshape_axes(initial_axes((8, 12, 64)), (8, 4, 12, 16))
    assert axes is not None
    assert axes[1] == (grain(TIME, 4),)
    assert axes[2] == (grain(TIME, 3), grain(FEATURES, 4)) and size_of_origin(axes[2], TIME) == 3


def test_sizes_that_do_not_divide_each_other_are_tangled() -> None:
    axes = reshape_axes(initial_axes((8, 10, 64)), (8, 4, 10, 16))
    assert axes is not None
    assert axes[0] == (grain(BATCH, 8),)
    assert all(
        has_origin(axis, TIME) and has_origin(axis, FEATURES) and size_of_origin(axis, TIME) == 1 for axis in axes[1:]
    )


def test_what_does_not_fit_is_not_known() -> None:
    assert reshape_axes(initial_axes((2, 3)), (5,)) is None
    assert transpose_axes(initial_axes((2, 3)), (0, 0)) is None


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1)])
def test_axes_of_one_element_hold_nothing(shape: tuple[int, int]) -> None:
    assert reshape_axes(initial_axes(shape), (shape[0] * shape[1],)) == [
        tuple(one for axis in initial_axes(shape) for one in axis)
    ]


@given(some.permutations([2, 3, 4]), some.permutations([0, 1, 2]), some.permutations([2, 2, 6]))
def test_an_axis_holds_what_numpy_says(shape: list[int], order: list[int], again: list[int]) -> None:
    """Along an axis, exactly those places of the first tensor change whose grains it has."""
    places = np.stack(np.meshgrid(*(np.arange(size) for size in shape), indexing="ij"), -1)
    moved = places.transpose(*order, 3).reshape(*again, 3)
    axes = transpose_axes(initial_axes(shape), order)
    axes = reshape_axes(axes, again) if axes is not None else None
    assert axes is not None
    for at, axis in enumerate(axes):
        changes = (np.diff(moved, axis=at) != 0).reshape(-1, 3).any(0)
        for origin in range(3):
            assert has_origin(axis, origin) or not changes[origin]
