"""How much of a pool was ever used."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensorsleuth.analyze.memory.lifetimes import BufferLifetime
from tensorsleuth.analyze.memory.onednn_pool import OneDnnPool

places = st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 20))  # address, bytes, time of allocation


@given(st.lists(places, max_size=12))
def test_each_byte_counts_from_when_a_tensor_first_lay_there(found: list[tuple[int, int, int]]) -> None:
    pool = OneDnnPool(BufferLifetime(address, size, born, 0) for address, size, born in found)
    times = np.arange(-1, 22)
    bytes_at = [{byte for at, size, born in found if born <= time for byte in range(at, at + size)} for time in times]
    assert pool.bytes_used(times).tolist() == [len(used) for used in bytes_at]
