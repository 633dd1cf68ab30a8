"""Rows of the validation data that are in the training data: they say nothing of data that the model has not seen."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.violation import Remark, Violation
from tensorsleuth.data.block import Block
from tensorsleuth.data.check import DATA, VALIDATION, Case, Check
from tensorsleuth.data.hash_sample import HashSample, Shared, shared
from tensorsleuth.data.tally import KEPT


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
        if not self._samples[VALIDATION].rows:
            return
        found = shared(self._samples[DATA], self._samples[VALIDATION], KEPT)
        allowed = self.case.schema.overlap if self.case.schema is not None else 0.0
        if found.broken > allowed * found.total:
            yield overlapping(
                ", ".join(self._names[:3]) + (", …" if len(self._names) > 3 else ""),
                found,
                self._samples[VALIDATION].rows,
            )


def overlapping(name: str, found: Shared, rows: int) -> Violation:
    """Yield a violation for rows of validation that are in training; `rows` is the number of all."""
    estimate = f", estimated from 1 row in {found.one_in}" if found.one_in > 1 else ""
    return Violation(
        "overlap", name, "rows that are not in the training data",
        f"{found.broken / found.total:.2%} of the rows in it{estimate}",
        found.broken * found.one_in, rows, tuple((row,) for row in found.rows),
        tuple(Remark(f"= training row {first}") for first in found.firsts),
        "Split before rows are repeated or augmented, and drop these from one of the two.", where=VALIDATION,
    )  # fmt: skip


CHECK = Overlap
