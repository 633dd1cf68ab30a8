"""Samples that a model is validated with, and trained on: what is measured is memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.series import INSIDE
from tensorsleuth.diagnose.inputs.input_parts import called
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.overlap import Overlap, overlap_of_looks
from tensorsleuth.diagnose.inputs.token_samples import Sequences, sequences_of
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.input_rows import InputRows

LEAST_SHARED, LEAST_SHARE = 4, 0.01  # rows that are the same, and of those of validation
MUCH = 0.05  # of those: less is told, and makes no run ill: texts may be there twice in any collection
BY_CHANCE = 0.02  # of the rows of one batch that may be there twice, for rows to tell anything


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    held_out = _held_out(process)
    if not held_out:
        return
    given, rows = process.once(Given), process.once(InputRows)
    for texts in _by_function(sequences_of(given)):
        known = [one for one in texts if one.name in held_out]
        if known and min(map(_repeats, known)) <= BY_CHANCE:
            yield from _judged(process, given, known, overlap_of_rows(rows, known, held_out))


RULE = Rule(id="overlap", severity=Severity.WRONG, find=find)


def _held_out(process: ProcessTrace) -> dict[str, list[int]]:
    """Return the series that go into functions that do not train, by the program's name."""
    found: dict[str, list[int]] = {}
    for one in process.catalogue.series.values():
        if one.of == INSIDE and one.kind == "input" and not one.trains:
            found.setdefault(called(one.name), []).append(one.number)
    return found


def _by_function(texts: list[Sequences]) -> list[list[Sequences]]:
    """A sample is all that one function takes: each of its inputs once, whatever it is looked up in."""
    found: dict[str, dict[str, Sequences]] = {}
    for one in texts:
        found.setdefault(one.series.name.partition("/")[0], {}).setdefault(one.name, one)
    return [list(inputs.values()) for inputs in found.values()]


def _repeats(one: Sequences) -> float:
    """Return the number of repeated rows in a batch: data with few distinct rows shares them by chance."""
    shares = [1 - len(np.unique(ids, axis=0)) / len(ids) for ids in one.at.values()]
    return float(np.mean(shares)) if shares else 0.0


def overlap_of_rows(rows: InputRows, texts: list[Sequences], held_out: dict[str, list[int]]) -> Overlap | None:
    """All rows compared, in the fit that shares the most; None where no row of validation was kept."""
    seen = {one.name: [number for number in held_out[one.name] if rows.fits(number)] for one in texts}
    texts = [one for one in texts if seen[one.name]]
    trained = {one.series.number: one.padding for one in texts}
    measured = {seen[one.name][0]: one.padding for one in texts}
    fits = rows.fits(next(iter(measured))) if measured else []
    names = ", ".join(one.name for one in texts)
    found = [_compared(rows.samples(trained, fit), rows.samples(measured, fit), names) for fit in fits]
    return max(found, key=lambda one: one.share, default=None)


def _compared(trained: Array, measured: Array, names: str) -> Overlap:
    shared = np.intersect1d(trained, measured, assume_unique=True)
    return Overlap(len(shared), len(measured), len(trained), names)


def _judged(
    process: ProcessTrace, given: Given, texts: list[Sequences], overlap: Overlap | None
) -> Iterator[RuleFinding]:
    """Compared in whole; in old traces, and where rows were not kept, as far as looks into the model go."""
    if overlap is not None:
        if overlap.shared >= LEAST_SHARED and overlap.share >= LEAST_SHARE:
            yield _finding(given, texts[0], overlap)
        return
    for one in texts:
        found = overlap_of_looks(process, given, one)
        if found is not None and found.shared >= LEAST_SHARED and found.share >= MUCH:
            yield _finding(given, one, found)


def _finding(given: Given, one: Sequences, overlap: Overlap) -> RuleFinding:
    why = (
        f"validates with samples that it trains on: {overlap.words}, so that what is measured is memory, "
        "not what was learned"
    )
    is_note = overlap.share < MUCH
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_APART,
        frame=given.entry(one.lookup.spot),
        op="validation",
        severity=Severity.NOTE if is_note else Severity.WRONG,
    )


_APART = (
    "split the data once, before it is repeated, augmented or shuffled anew: train, held = data[:n], data[n:]; drop "
    "rows that are there twice first"
)
