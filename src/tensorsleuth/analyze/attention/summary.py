"""An attention layer as plain values, for reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.attention.picture import sample_nearest
from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.trace.series.attention import HEAD_STATISTICS, AttentionSeries


@dataclass(frozen=True)
class AttentionSummary:
    """One attention layer: its statistics at all samples, and the selected sample."""

    name: str
    heads: int
    queries: int
    keys: int
    by: str
    place: str | None  # file:line
    trains: bool
    steps: tuple[int, ...]
    sample_index: int
    curves: Mapping[str, Array]  # by statistic: [samples, heads], NaN if a sample was not kept

    def mean(self, name: str) -> Array:
        """Return for each sample the mean over the heads with a known number."""
        curve = self.curves[name]
        known = np.isfinite(curve)
        total = np.where(known, curve, 0.0).sum(1)
        return np.asarray(np.divide(total, known.sum(1), out=np.full(len(curve), np.nan), where=known.any(1)))


def summarize(one: AttentionSeries, step: int | None = None, line: Frame | None = None) -> AttentionSummary:
    """Summarize an attention layer. `line` is a more helpful line than the call of the model, if one is known."""
    own = f"{one.file}:{one.line}" if one.file else None
    place = f"{line.file}:{line.line}" if line is not None else own
    curves = {name: _curve(one, name) for name in HEAD_STATISTICS}
    sizes = one.heads, one.rows, one.columns
    steps = tuple(int(at) for at in one.steps)
    return AttentionSummary(one.name, *sizes, one.by, place, one.trains, steps, sample_nearest(one, step), curves)


def _curve(one: AttentionSeries, name: str) -> Array:
    unknown = np.full(one.heads, np.nan)
    looks = [one.statistics(look).get(name, unknown) for look in range(len(one))]
    return np.array([look if len(look) == one.heads else unknown for look in looks])
