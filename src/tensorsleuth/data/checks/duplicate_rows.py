"""Finds rows that repeat an earlier row: a model sees them more often than the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import ValueNote, Violation
from tensorsleuth.data.block import Block
from tensorsleuth.data.check import DATA, CheckContext, DataCheck
from tensorsleuth.data.hash_sample import HashSample
from tensorsleuth.data.tally import MAX_EXAMPLES

MIN_VALUES_FOR_ERROR = 8  # rows with so many values are not equal by chance


class DuplicateRowsCheck(DataCheck):
    parts = (DATA,)

    def __init__(self, check_context: CheckContext) -> None:
        super().__init__(check_context)
        self._names = check_context.inputs
        self._sample = HashSample()
        self._width = 0

    def see(self, block: Block) -> None:
        hashes = block.hashes(self._names) if block.whole and self._allowed() < 1 else None
        if hashes is not None and len(hashes):
            self._sample.add(hashes, block.start)
            self._width = sum(block.pieces[name].array[:1].size for name in self._names)

    def _allowed(self) -> float:
        schema = self.case.schema
        return (schema.duplicates or 0.0) if schema is not None else 0.0

    def end(self) -> Iterator[Violation]:
        if self._sample.all_differ:
            return
        hashes, places = self._sample.sorted_rows()
        again = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1 if len(hashes) else np.zeros(0, np.int64)
        if len(again) > self._allowed() * len(hashes):
            by_place = again[np.argsort(places[again])][:MAX_EXAMPLES]
            firsts = places[np.searchsorted(hashes, hashes[by_place])]
            yield self._violation(len(again), len(hashes), places[by_place].tolist(), firsts.tolist())

    def _violation(self, broken: int, total: int, rows: list[int], firsts: list[int]) -> Violation:
        allowed, each = self._allowed(), self._sample.one_in
        expected = "rows that differ" if not allowed else f"at most {allowed:.4g} of the rows to be duplicates"
        estimate = f", estimated from 1 row in {each}" if each > 1 else ""
        said = self.case.schema is not None and self.case.schema.duplicates is not None
        severity = "error" if said or (self.case.schema is None and self._width >= MIN_VALUES_FOR_ERROR) else "warning"
        return Violation(
            "duplicate-row", ", ".join(self._names[:3]) + (", …" if len(self._names) > 3 else ""), expected,
            f"{broken / total:.2%} of the rows there before{estimate}", broken * each, self._sample.rows,
            tuple((row,) for row in rows), tuple(ValueNote(f"= row {first}") for first in firsts),
            "Drop them, or allow a share of duplicates (duplicates = 0.1).", severity,
        )  # fmt: skip


CHECK = DuplicateRowsCheck
