"""Finds rows of the validation data that also are in the training data: they say nothing about unseen data."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.violation import ValueNote, Violation
from tensorsleuth.data.block import Block
from tensorsleuth.data.check import DATA, VALIDATION, CheckContext, DataCheck
from tensorsleuth.data.hash_sample import HashSample, SharedRows, shared_rows
from tensorsleuth.data.tally import MAX_EXAMPLES


class OverlapCheck(DataCheck):
    def __init__(self, check_context: CheckContext) -> None:
        super().__init__(check_context)
        self._names = check_context.inputs
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
        found = shared_rows(self._samples[DATA], self._samples[VALIDATION], MAX_EXAMPLES)
        allowed = self.case.schema.overlap if self.case.schema is not None else 0.0
        if found.broken > allowed * found.total:
            yield overlap_violation(
                ", ".join(self._names[:3]) + (", …" if len(self._names) > 3 else ""),
                found,
                self._samples[VALIDATION].rows,
            )


def overlap_violation(name: str, found: SharedRows, rows: int) -> Violation:
    """Return a violation for rows of validation that are in training; `rows` is the number of all."""
    estimate = f", estimated from 1 row in {found.one_in}" if found.one_in > 1 else ""
    return Violation(
        "overlap", name, "rows that are not in the training data",
        f"{found.broken / found.total:.2%} of the rows in it{estimate}",
        found.broken * found.one_in, rows, tuple((row,) for row in found.rows),
        tuple(ValueNote(f"= training row {first}") for first in found.firsts),
        "Split before rows are repeated or augmented, and drop these from one of the two.", where=VALIDATION,
    )  # fmt: skip


CHECK = OverlapCheck
