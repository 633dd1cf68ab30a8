"""Compares two sets: the shares of ranges of values, or of categories, must be about the same.

Numbers are compared by the population stability index over tenths of the first set, with the largest distance between
the two distributions (Kolmogorov-Smirnov) as additional information. Categories are compared by the largest
difference of a share. Both allow for the effect of chance on samples of that size.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation, format_value
from tensorsleuth.data.block import Block, Piece
from tensorsleuth.data.check import AGAINST, DATA, VALIDATION, CheckContext, DataCheck
from tensorsleuth.data.checks.constant import as_table
from tensorsleuth.data.feature import Feature, Label
from tensorsleuth.data.row_sample import RowSample
from tensorsleuth.data.tally import plain_value

MAX_STABILITY_INDEX = 0.25  # the usual bound for a large change
MAX_SHARE_DIFFERENCE = 0.1  # of a category
BINS = 10
MAX_COLUMNS = 64  # compared one by one; if there are more, all values together
MAX_CATEGORIES = 1000


class DriftCheck(DataCheck):
    parts = (DATA, VALIDATION, AGAINST)

    def __init__(self, check_context: CheckContext) -> None:
        super().__init__(check_context)
        self._samples: dict[tuple[str, str], RowSample] = {}
        self._counts: dict[tuple[str, str], Counter[object]] = {}

    def see(self, block: Block) -> None:
        if len(self.case.parts) < 2:
            return
        for name, piece in block.pieces.items():
            feature = self.case.feature(name)
            if feature is None or piece.array.dtype.kind in "mM":
                continue
            if _is_category(feature, piece):
                self._count(block.part, name, piece)
            else:
                sampled = self._samples.setdefault((block.part, name), RowSample())
                sampled.add(_columns(piece))

    def _count(self, part: str, name: str, piece: Piece) -> None:
        counts = self._counts.setdefault((part, name), Counter())
        flat = piece.array[~piece.missing]
        values, often = np.unique(flat.astype(str) if flat.dtype.kind in "OT" else flat, return_counts=True)
        if len(counts) + len(values) <= MAX_CATEGORIES:
            counts.update(dict(zip((plain_value(value) for value in values), often.tolist())))

    def end(self) -> Iterator[Violation]:
        for part, name in self._samples:
            other = self._samples.get((_reference(part, self.case.parts), name))
            if part != _reference(part, self.case.parts) and other is not None:
                yield from self._numbers(part, name, other, self._samples[part, name])
        for part, name in self._counts:
            counts = self._counts.get((_reference(part, self.case.parts), name))
            if part != _reference(part, self.case.parts) and counts:
                yield from self._categories(part, name, counts, self._counts[part, name])

    def _numbers(self, part: str, name: str, before: RowSample, now: RowSample) -> Iterator[Violation]:
        first, second = before.rows, now.rows
        if first.shape[1:] != second.shape[1:] or not len(first) or not len(second):
            return
        for column in range(first.shape[1]):
            old, new = (rows[:, column][np.isfinite(rows[:, column])] for rows in (first, second))
            index = stability_index(old, new) if len(old) and len(new) else 0.0
            if index > MAX_STABILITY_INDEX + 2 * chance_index(len(old), len(new)):
                label = name if first.shape[1] == 1 else f"{name}[:, {column}]"
                yield _drift_violation(part, label, old, new, index)

    def _categories(self, part: str, name: str, old: Counter[object], new: Counter[object]) -> Iterator[Violation]:
        olds, news = old.total(), new.total()
        if not olds or not news:
            return
        apart = {one: new[one] / news - old[one] / olds for one in [*old, *new]}
        worst = max(apart, key=lambda one: abs(apart[one]))
        noise = 3 * math.sqrt(0.25 * (1 / olds + 1 / news))
        if abs(apart[worst]) > MAX_SHARE_DIFFERENCE + noise:
            found = f"{format_value(worst)} in {new[worst] / news:.1%} of the rows, {old[worst] / olds:.1%} before"
            yield Violation(
                "drift", name, "the same shares of values", found, change=_ADVICE,
                severity=_severity(part), where=_where(part),
            )  # fmt: skip


_ADVICE = "Do both come from the same place, and through the same steps? Split at random, or train on newer data."


def _reference(part: str, parts: tuple[str, ...]) -> str:
    """Return the reference of a part: the given one for the data, the data for validation."""
    return AGAINST if part == DATA and AGAINST in parts else DATA if part == VALIDATION else part


def _is_category(feature: Feature, piece: Piece) -> bool:
    return (isinstance(feature, Label) and piece.array.ndim == 1) or bool(feature.one_of) or not piece.numeric


def _where(part: str) -> str:
    return "against the other set" if part == DATA else "validation against training"


def _severity(part: str) -> str:
    return "error" if part == DATA else "warning"


def _columns(piece: Piece) -> Array:
    table = as_table(piece.array) if not piece.ragged else piece.array.reshape(-1, 1)
    return table if table.shape[1] <= MAX_COLUMNS else table.reshape(-1, 1)


def stability_index(old: Array, new: Array) -> float:
    """Return the population stability index: how differently the values fall into tenths of the old ones."""
    edges = np.unique(np.quantile(old.astype(np.float64), np.linspace(0, 1, BINS + 1)[1:-1]))
    shares = []
    for values in (old, new):
        counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
        shares.append((counts + 0.5) / (len(values) + 0.5 * len(counts)))
    return float(np.sum((shares[1] - shares[0]) * np.log(shares[1] / shares[0])))


def chance_index(old: int, new: int) -> float:
    """Return the index that chance gives for samples of that size."""
    return (BINS - 1) * (1 / old + 1 / new)


def ks_distance(old: Array, new: Array) -> float:
    """Return the Kolmogorov-Smirnov distance: the largest difference of the share of values below any point."""
    both = np.concatenate([old, new])
    below = [np.searchsorted(np.sort(values), both, side="right") / len(values) for values in (old, new)]
    return float(np.abs(below[0] - below[1]).max())


def _drift_violation(part: str, label: str, old: Array, new: Array, index: float) -> Violation:
    median = f"median {format_value(float(np.median(new)))}, {format_value(float(np.median(old)))} before"
    found = f"{median} (stability index {index:.2f}, distance {ks_distance(old, new):.2f})"
    expected = f"the same distribution (index of {MAX_STABILITY_INDEX} at most)"
    return Violation("drift", label, expected, found, change=_ADVICE, severity=_severity(part), where=_where(part))


CHECK = DriftCheck
