"""The hashes of rows, in bounded memory: all of them, or a fair sample where they are too many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MAX_HASHES = 1 << 21  # rows that are kept: 32 MB

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


class HashSample:
    """Keeps rows by their hash: where one is kept, so are all that are the same, and shares stay right."""

    def __init__(self, most: int = MAX_HASHES) -> None:
        self._most = most
        self._shift = 0  # rows are kept whose hash ends in so many zeros
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
        """Is no row there twice. Much quicker than to sort them with their places."""
        hashes = np.sort(np.concatenate([pair[0] for pair in self._kept] or [np.zeros(0, np.uint64)]))
        return not bool((hashes[1:] == hashes[:-1]).any())

    @property
    def one_in(self) -> int:
        """1 where every row is there."""
        return 1 << self._shift

    def sorted_rows(self, one_in: int = 1) -> tuple[Hashes, Places]:
        """Hashes and rows, by hash and then by row; no more than one in so many."""
        hashes: Any = np.concatenate([pair[0] for pair in self._kept] or [np.zeros(0, np.uint64)])
        places: Any = np.concatenate([pair[1] for pair in self._kept] or [np.zeros(0, np.int64)])
        if one_in > self.one_in:
            mask = (hashes & np.uint64(one_in - 1)) == 0
            hashes, places = hashes[mask], places[mask]
        order = np.argsort(hashes, kind="stable")
        return hashes[order], places[order]


class SharedRows(NamedTuple):
    """Rows of one sample that are in another."""

    broken: int  # how many, of those that were kept
    total: int
    one_in: int  # 1 where every row was kept
    rows: list[int]  # the first few
    firsts: list[int]  # the row of the other that each is the same as


def shared_rows(known: HashSample, asked: HashSample, few: int) -> SharedRows:
    """Return which rows of `asked` are in `known`."""
    each = max(known.one_in, asked.one_in)  # what both have kept
    hashes, rows = known.sorted_rows(each)
    wanted, places = asked.sorted_rows(each)
    there = np.isin(wanted, hashes)
    found = np.flatnonzero(there)[np.argsort(places[there])][:few]
    firsts = rows[np.searchsorted(hashes, wanted[found])]
    return SharedRows(int(np.count_nonzero(there)), len(wanted), each, places[found].tolist(), firsts.tolist())
