"""Validation samples that the model is also trained on: the metric measures memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.array import Array
from tensorsleuth.core.series import OF_LAYER_STATS
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.row_overlap import RowOverlap, sampled_overlap
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences, token_sequences
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.input_rows import InputRows

LEAST_SHARED, LEAST_SHARE = 4, 0.01  # rows that are the same, and of those of validation
MIN_WRONG_SHARE = 0.05  # of those: less is told, and makes no run ill: texts may be there twice in any collection
MAX_REPEATED_SHARE = 0.02  # of the rows of one batch that may be there twice, for rows to tell anything


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    held_out = _held_out(process)
    if not held_out:
        return
    given, rows = process.cached(ModelInputs), process.cached(InputRows)
    for texts in _by_function(token_sequences(given)):
        known = [one for one in texts if one.name in held_out]
        if known and min(map(_repeated_share, known)) <= MAX_REPEATED_SHARE:
            yield from _judged(process, given, known, overlap_of_rows(rows, known, held_out))


RULE = Rule(id="overlap", severity=Severity.WRONG, find=find)


def _held_out(process: ProcessTrace) -> dict[str, list[int]]:
    """Return the series that go into functions that do not train, by the program's name."""
    found: dict[str, list[int]] = {}
    for one in process.catalogue.series.values():
        if one.owner == OF_LAYER_STATS and one.kind == "input" and not one.trains:
            found.setdefault(program_input_name(one.name), []).append(one.number)
    return found


def _by_function(texts: list[TokenSequences]) -> list[list[TokenSequences]]:
    """Group the inputs by function: a sample consists of all inputs of one function, each once."""
    found: dict[str, dict[str, TokenSequences]] = {}
    for one in texts:
        found.setdefault(one.series.name.partition("/")[0], {}).setdefault(one.name, one)
    return [list(inputs.values()) for inputs in found.values()]


def _repeated_share(one: TokenSequences) -> float:
    """Return the number of repeated rows in a batch: data with few distinct rows shares them by chance."""
    shares = [1 - len(np.unique(ids, axis=0)) / len(ids) for ids in one.ids_by_step.values()]
    return float(np.mean(shares)) if shares else 0.0


def overlap_of_rows(rows: InputRows, texts: list[TokenSequences], held_out: dict[str, list[int]]) -> RowOverlap | None:
    """Return the overlap of all rows, in the fit that shares the most; None if no validation row was kept."""
    seen = {one.name: [number for number in held_out[one.name] if rows.fits(number)] for one in texts}
    texts = [one for one in texts if seen[one.name]]
    trained = {one.series.number: one.padding_id for one in texts}
    measured = {seen[one.name][0]: one.padding_id for one in texts}
    fits = rows.fits(next(iter(measured))) if measured else []
    names = ", ".join(one.name for one in texts)
    found = [_compared(rows.samples(trained, fit), rows.samples(measured, fit), names) for fit in fits]
    return max(found, key=lambda one: one.share, default=None)


def _compared(trained: Array, measured: Array, names: str) -> RowOverlap:
    shared = np.intersect1d(trained, measured, assume_unique=True)
    return RowOverlap(len(shared), len(measured), len(trained), names)


def _judged(
    process: ProcessTrace, model_inputs: ModelInputs, texts: list[TokenSequences], row_overlap: RowOverlap | None
) -> Iterator[RuleFinding]:
    """Yield the finding: from all rows, or from the samples if the trace has no rows."""
    if row_overlap is not None:
        if row_overlap.shared >= LEAST_SHARED and row_overlap.share >= LEAST_SHARE:
            yield _finding(model_inputs, texts[0], row_overlap)
        return
    for one in texts:
        found = sampled_overlap(process, model_inputs, one)
        if found is not None and found.shared >= LEAST_SHARED and found.share >= MIN_WRONG_SHARE:
            yield _finding(model_inputs, one, found)


def _finding(model_inputs: ModelInputs, one: TokenSequences, row_overlap: RowOverlap) -> RuleFinding:
    why = (
        f"validates with samples that it trains on: {row_overlap.words}, so that what is measured is memory, "
        "not what was learned"
    )
    is_note = row_overlap.share < MIN_WRONG_SHARE
    entry = model_inputs.entry(one.lookup.gather)
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_APART,
        frame=replace(entry, layer=None) if entry is not None else None,  # it is the data, whatever reads it
        op="validation",
        severity=Severity.NOTE if is_note else Severity.WRONG,
    )


_APART = (
    "split the data once, before it is repeated, augmented or shuffled anew: train, held = data[:n], data[n:]; drop "
    "rows that are there twice first"
)
