"""Rows of the validation data that are in the training data: they say nothing of data that the model has not seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.data.block import Block
from tensorsleuth.data.check import DATA, VALIDATION, Case, Check
from tensorsleuth.data.hash_sample import HashSample
from tensorsleuth.data.tally import KEPT
from tensorsleuth.model.violation import Remark, Violation


class Overlap(Check):
    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self._names = case.inputs
        self._samples = {DATA: HashSample(), VALIDATION: HashSample()}

    def see(self, block: Block) -> None:
        if VALIDATION not in self.case.parts:
            return
        hashes = block.hashes(self._names) if block.whole else None
        if hashes is not None and len(hashes):
            self._samples[block.part].add(hashes, block.start)

    def end(self) -> Iterator[Violation]:
        train, validation = self._samples[DATA], self._samples[VALIDATION]
        if not validation.rows:
            return
        each = max(train.one_in, validation.one_in)  # what both have kept
        known, rows = train.sorted(each)
        asked, places = validation.sorted(each)
        there = np.isin(asked, known)
        broken, allowed = (
            int(np.count_nonzero(there)),
            self.case.schema.overlap if self.case.schema is not None else 0.0,
        )
        if broken > allowed * len(asked):
            found = np.flatnonzero(there)[np.argsort(places[there])][:KEPT]
            firsts = rows[np.searchsorted(known, asked[found])]
            yield self._tell(broken, len(asked), each, places[found].tolist(), firsts.tolist())

    def _tell(self, broken: int, total: int, each: int, rows: list[int], firsts: list[int]) -> Violation:
        estimate = f", estimated from 1 row in {each}" if each > 1 else ""
        return Violation(
            "overlap", ", ".join(self._names[:3]) + (", …" if len(self._names) > 3 else ""),
            "rows that are not in the training data", f"{broken / total:.2%} of the rows in it{estimate}",
            broken * each, self._samples[VALIDATION].rows, tuple((row,) for row in rows),
            tuple(Remark(f"= training row {first}") for first in firsts),
            "Split before rows are repeated or augmented, and drop these from one of the two.", where=VALIDATION,
        )  # fmt: skip


CHECK = Overlap
