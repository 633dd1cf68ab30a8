"""Validation rows that are also training rows: how many in all, and how many in the samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.inputs.input_parts import InputPart
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

MIN_ROW_TOKENS = 4  # tokens: shorter rows are the same by chance


@dataclass(frozen=True)
class RowOverlap:
    """The distinct rows of validation and of training, counted."""

    shared: int
    measured: int  # rows of validation
    trained: int
    names: str  # what the program calls them
    in_part: bool = False  # only what was looked at

    @property
    def share(self) -> float:
        """Return the share of the rows of validation."""
        return self.shared / max(1, self.measured)

    @property
    def words(self) -> str:
        looked = " that were sampled" if self.in_part else ""
        of = "" if self.in_part else "the "
        counted = f"{self.shared:,} of the {self.measured:,} rows of validation{looked} are among {of}{self.trained:,}"
        return f"{counted} rows of training ({self.names})"


def sampled_overlap(process: ProcessTrace, model_inputs: ModelInputs, one: TokenSequences) -> RowOverlap | None:
    """Return the overlap of the first rows of sampled batches; None if no sample fell on validation."""
    held_out = {program_input_name(series.name): series for series in process.cached(LayerStatistics).evaluation.inputs}
    if one.name not in held_out or not any(series.trains for series in process.cached(LayerStatistics).inputs):
        return None
    kept = InputPart(held_out[one.name], one.lookup.ids.slices).values()
    steps = _validation_steps(process, held_out[one.name], model_inputs.entry(one.lookup.gather))
    batches = [ids for step, ids in kept.items() if step in steps and ids.ndim == 2]
    measured = {row for ids in batches for row in _rows(ids, one.padding_id)}
    trained = {row for ids in one.ids_by_step.values() for row in _rows(ids, one.padding_id)}
    return (
        RowOverlap(len(measured & trained), len(measured), len(trained), one.name, in_part=True) if measured else None
    )


def _validation_steps(process: ProcessTrace, series: WatchedSeries, entry: Frame | None) -> set[int]:
    """Return the steps at which the training line also validated. A separate evaluation may be intended."""
    calls = process.calls[process.calls["kind"] == CallKind.FUNCTION]
    found = set()
    for row in series.rows:
        before = calls[calls["time"] <= row["time"]]
        op = process.catalogue.eager.get(int(before["op"][np.argmax(before["time"])])) if len(before) else None
        site = process.catalogue.sites.get(op.site) if op is not None else None
        if site is not None and site.frame == entry:
            found.add(int(row["step"]))
    return found


def _rows(ids: Array, pad: int | None) -> list[tuple[int, ...]]:
    """Return the rows without padding, except those that are too short."""
    rows = [tuple(int(token) for token in row if token != pad) for row in ids.tolist()]
    return [row for row in rows if len(row) >= MIN_ROW_TOKENS]
