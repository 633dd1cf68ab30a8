"""How large a trace may grow."""

from __future__ import annotations

import mmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorsleuth.core.layout.rows import CALL, EVENT
from tensorsleuth.trace.storage.size_plan import (
    CALL_BYTES,
    EVENT_BYTES,
    MIN_WINDOW_ROWS,
    VALUE_BYTES,
    WINDOW_ROWS,
    RingPlan,
    make_plan,
)

SIZES = st.none() | st.integers(-5, 10) | st.integers(1, 10_000_000)


def kept(plan: RingPlan) -> int:
    """Rows that are always there, whatever is pinned: all chunks but the pinned ones and the one begun last."""
    return (plan.chunks - (plan.most_pinned if plan.window else 0) - 1) * plan.chunk_rows


@given(size=SIZES)
def test_chunks_are_whole_pages(size: int | None) -> None:
    plan = make_plan(size, keep_values=False)
    for ring, dtype in ((plan.events, EVENT), (plan.calls, CALL)):
        assert ring.row_size == dtype.itemsize
        assert ring.row_size * ring.chunk_rows % mmap.PAGESIZE == 0


@given(size=st.integers(1, 10_000_000))
def test_a_bound_keeps_at_least_that_many(size: int) -> None:
    plan = make_plan(size, keep_values=False)
    assert kept(plan.events) >= size
    assert kept(plan.calls) >= size
    for ring in (plan.events, plan.calls):
        assert ring.window * ring.chunk_rows >= MIN_WINDOW_ROWS, "also a small one keeps the way to the first bad value"
        assert kept(ring) <= max(size, MIN_WINDOW_ROWS) + 2 * ring.chunk_rows, "and not much more"


def test_by_default_disk_is_bounded_and_the_window_is_kept() -> None:
    plan = make_plan(None, keep_values=False)
    assert plan.events.chunks * plan.events.chunk_rows * plan.events.row_size <= EVENT_BYTES
    assert plan.calls.chunks * plan.calls.chunk_rows * plan.calls.row_size <= CALL_BYTES
    assert plan.events.window * plan.events.chunk_rows == WINDOW_ROWS
    assert kept(plan.events) > 9_000_000


@pytest.mark.parametrize("size", [0, -1, -1000])
def test_nothing_or_less_is_no_bound(size: int) -> None:
    plan = make_plan(size, keep_values=False)
    assert plan.events.chunks * plan.events.chunk_rows > 500_000_000


def test_values_are_kept_where_asked_for() -> None:
    assert make_plan(None, keep_values=True).value_bytes == VALUE_BYTES
    assert make_plan(1000, keep_values=False).value_bytes == 0
