"""Hashes of rows in bounded memory: all of them, or a fair sample if there are too many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_HASHES = 1 << 21  # number of kept rows: 32 MB

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


class HashSample:
    """Keeps rows by their hash: equal rows are kept or dropped together, so that shares stay right."""

    def __init__(self, most: int = MAX_HASHES) -> None:
        self._most = most
        self._shift = 0  # a row is kept if its hash ends in this many zeros
        self._kept: list[tuple[Hashes, Places]] = []
        self._count = 0
        self.rows = 0

    def add(self, hashes: Hashes, start: int) -> None:
        self.rows += len(hashes)
        places = np.arange(start, start + len(hashes))
        self._keep(*self._thin(hashes, places))
        while self._count > self._most:
            self._shift += 1
            thinned = [self._thin(*pair) for pair in self._kept]
            self._kept, self._count = [], 0
            for pair in thinned:
                self._keep(*pair)

    def _keep(self, hashes: Hashes, places: Places) -> None:
        self._kept.append((hashes, places))
        self._count += len(hashes)

    def _thin(self, hashes: Hashes, places: Places) -> tuple[Hashes, Places]:
        if not self._shift:
            return hashes, places
        mask = (hashes & np.uint64((1 << self._shift) - 1)) == 0
        return hashes[mask], places[mask]

    @property
    def all_differ(self) -> bool:
        """Return whether no row occurs twice, which is much faster than sorting rows with their places."""
        hashes = np.sort(np.concatenate([pair[0] for pair in self._kept] or [np.zeros(0, np.uint64)]))
        return not bool((hashes[1:] == hashes[:-1]).any())

    @property
    def one_in(self) -> int:
        """The sampling rate: 1 if every row is kept."""
        return 1 << self._shift

    def sorted_rows(self, one_in: int = 1) -> tuple[Hashes, Places]:
        """Return hashes and rows, sorted by hash and then by row, at most one in `one_in`."""
        hashes: Any = np.concatenate([pair[0] for pair in self._kept] or [np.zeros(0, np.uint64)])
        places: Any = np.concatenate([pair[1] for pair in self._kept] or [np.zeros(0, np.int64)])
        if one_in > self.one_in:
            mask = (hashes & np.uint64(one_in - 1)) == 0
            hashes, places = hashes[mask], places[mask]
        order = np.argsort(hashes, kind="stable")
        return hashes[order], places[order]


class SharedRows(NamedTuple):
    """Rows of one sample that another contains."""

    broken: int  # how many of the kept rows
    total: int
    one_in: int  # 1 if every row was kept
    rows: list[int]  # the first few
    firsts: list[int]  # for each of these the equal row of the other sample


def shared_rows(known: HashSample, asked: HashSample, few: int) -> SharedRows:
    """Return which rows of `asked` are in `known`."""
    each = max(known.one_in, asked.one_in)  # the rows that both have kept
    hashes, rows = known.sorted_rows(each)
    wanted, places = asked.sorted_rows(each)
    there = np.isin(wanted, hashes)
    found = np.flatnonzero(there)[np.argsort(places[there])][:few]
    firsts = rows[np.searchsorted(hashes, wanted[found])]
    return SharedRows(int(np.count_nonzero(there)), len(wanted), each, places[found].tolist(), firsts.tolist())
