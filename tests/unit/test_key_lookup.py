"""Values found in columns, a stretch of equal ones at a time: the same as a search through all of them finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorsleuth.trace.dataflow.calls import ColumnIndex
from tensorsleuth.trace.process.key_lookup import KeyLookup

STRETCHES = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=12)


def column_of(stretches: list[tuple[int, int]]) -> np.ndarray:
    return np.array([value for value, length in stretches for _ in range(length)], np.uint64)


@given(STRETCHES, st.integers(0, 5), st.booleans())
def test_the_places_of_a_value(stretches: list[tuple[int, int]], value: int, elsewhere: bool) -> None:
    column = column_of(stretches)
    places = np.arange(len(column))[::-1] * 3 if elsewhere else np.arange(len(column))
    found = ColumnIndex(column, places if elsewhere else None).places(value)
    assert found.tolist() == places[column == value].tolist()


def test_what_no_call_has() -> None:
    assert ColumnIndex(np.array([1, 1, 2], np.uint64)).places(-1).tolist() == []


@given(STRETCHES, STRETCHES)
def test_the_values_of_keys(known: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    keys, wanted = column_of(known), column_of(asked)
    values = dict(zip(keys.tolist(), range(len(keys)), strict=True))
    assert KeyLookup(keys, np.arange(len(keys)))(wanted).tolist() == [values.get(key, -1) for key in wanted.tolist()]
