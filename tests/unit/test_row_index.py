"""Rows of a call by tensor, loop frame and iteration."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorsleuth.core.layout.rows import EVENT
from tensorsleuth.trace.dataflow.row_index import RowIndex

SMALL = st.integers(0, 3) | st.just((1 << 32) - 1)


@given(st.lists(st.tuples(SMALL, SMALL, SMALL), max_size=30), SMALL, SMALL, SMALL)
def test_it_finds_what_a_search_through_all_rows_finds(
    places: list[tuple[int, int, int]], tensor: int, frame: int, iteration: int
) -> None:
    rows = np.zeros(len(places), EVENT)
    for at, place in enumerate(places):
        rows["tensor"][at], rows["frame"][at], rows["iteration"][at] = place
    index = RowIndex(rows)
    assert index.of_tensor(tensor) == [at for at, place in enumerate(places) if place[0] == tensor]
    assert index.has_frame(tensor, frame) == any(place[:2] == (tensor, frame) for place in places)
    same = [at for at, place in enumerate(places) if place == (tensor, frame, iteration)]
    assert index.row_at(tensor, frame, iteration) == (same[-1] if same else None)


def test_numbers_that_no_row_can_have() -> None:
    index = RowIndex(np.zeros(3, EVENT))
    assert index.of_tensor(-1) == index.of_tensor(1 << 40) == [] and index.row_at(0, 0, -1) is None
    assert not index.has_frame(1 << 40, 0) and index.row_at(-5, 0, 0) is None
