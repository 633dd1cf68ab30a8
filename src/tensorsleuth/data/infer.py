"""Infers a schema that the sample itself fulfils, for a person to read and change."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.block import Column, Piece
from tensorsleuth.data.check import DATA, LABEL_NAMES, CheckContext
from tensorsleuth.data.check_data import part_blocks, renamed_columns
from tensorsleuth.data.checks.centred import RunningMoments, add_moments
from tensorsleuth.data.checks.constant import ConstantColumns, as_table
from tensorsleuth.data.checks.duplicate_columns import DuplicateColumnsCheck
from tensorsleuth.data.checks.duplicate_rows import DuplicateRowsCheck
from tensorsleuth.data.feature import Dimension, Feature, Label
from tensorsleuth.data.readers import open_source
from tensorsleuth.data.schema import Progress, Schema
from tensorsleuth.data.tally import plain_value

MAX_CATEGORIES = 32  # at most
MAX_DISTINCT_VALUES = 1000
COMMON_RANGES = ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0))  # ranges to which people scale
MIN_REPEATS = 4  # mean number of rows in each category; with fewer, it is text


class ColumnFacts:
    """The facts about one column of the sample."""

    def __init__(self, column: Column) -> None:
        self.name = column.name
        self.dtypes: list[str] = []
        self.shapes: list[tuple[int, ...]] = []
        self.low: float = math.inf
        self.high: float = -math.inf
        self.count = self.missing = self.infinite = 0
        self.values: Counter[Any] | None = Counter()
        self.steady: ConstantColumns | None = None
        self.moments = RunningMoments()
        self.ragged = False
        self.typed = True
        self.kind = ""

    def add(self, piece: Piece, shape: tuple[int, ...]) -> None:
        self.ragged, self.typed, self.kind = self.ragged or piece.ragged, piece.typed, piece.array.dtype.kind
        if piece.dtype not in self.dtypes:
            self.dtypes.append(piece.dtype)
        if shape not in self.shapes and len(self.shapes) < 64:
            self.shapes.append(shape)
        self.count += piece.array.size
        if piece.numeric:
            self._add_numbers(piece)
        else:
            self.missing += int(np.count_nonzero(piece.missing))
        self._add_steady(piece)
        self._add_values(piece)

    def _add_numbers(self, piece: Piece) -> None:
        self.missing += int(piece.health["nan"].sum())
        self.infinite += int((piece.health["pos_inf"] + piece.health["neg_inf"]).sum())
        if piece.range is not None:
            self.low, self.high = min(self.low, piece.range[0]), max(self.high, piece.range[1])
        if piece.array.size:
            add_moments(self.moments, piece)

    def _add_steady(self, piece: Piece) -> None:
        if piece.ragged or not len(piece.array):
            return
        table = as_table(piece.array)
        if self.steady is None:
            self.steady = ConstantColumns(table[0].copy())
        if table.shape[1] == self.steady.first.size:
            self.steady.add(table)

    def _add_values(self, piece: Piece) -> None:
        if self.values is None or piece.array.dtype.kind in "fcVmM" or piece.array.ndim > 2:
            self.values = None
            return
        flat = piece.array[~piece.missing]
        values, often = np.unique(flat.astype(str) if flat.dtype.kind in "OST" else flat, return_counts=True)
        self.values.update(dict(zip((plain_value(value) for value in values), often.tolist())))
        if len(self.values) > MAX_DISTINCT_VALUES:
            self.values = None


def infer(data: Any, progress: Progress | None = None) -> Schema:
    """Read the sample once."""
    source = open_source(data)
    names = {column.name: column.name for column in source.columns}
    check_context = CheckContext(None, {DATA: renamed_columns(source, names)})
    portraits = {column.name: ColumnFacts(column) for column in source.columns}
    rows, twins, seen = DuplicateRowsCheck(check_context), DuplicateColumnsCheck(check_context), 0
    for block in part_blocks(DATA, source, names):
        rows.see(block)
        twins.see(block)
        for name, piece in block.pieces.items():
            if name in portraits:
                portraits[name].add(piece, tuple(piece.shape))
        seen = max(seen, block.start + block.rows)
        if progress is not None:
            progress(source.title, seen, source.rows)
    if not seen and not any(portrait.count for portrait in portraits.values()):
        raise SleuthError(f"{source.title} has no rows: nothing can be inferred from it.")
    alike = {spot[0] for one in twins._twins or () if not one.steady for spot in one.spots}
    features = {name: suggested_feature(portrait, name in alike) for name, portrait in portraits.items()}
    return Schema(features, duplicates=_duplicates(rows))


def _duplicates(rows: DuplicateRowsCheck) -> float:
    hashes, _ = rows._sample.sorted_rows()
    broken = int(np.count_nonzero(hashes[1:] == hashes[:-1])) if len(hashes) else 0
    return _share_up(broken, len(hashes))


def suggested_feature(seen: ColumnFacts, alike: bool) -> Feature:
    """Return the feature that a column suggests."""
    told: dict[str, Any] = {"dtype": _dtype(seen), "shape": _shape(seen)}
    told |= {"missing": _share_up(seen.missing, seen.count), "finite": not seen.infinite}
    told |= {
        "constant": seen.steady is not None and len(seen.steady.columns) > 0 and seen.steady.rows > 1,
        "duplicate": alike,
    }
    if _is_label(seen):
        return Label(**told, **_classes(seen))
    numeric = seen.kind in "fiu" and seen.low <= seen.high
    told["between"] = suggested_range(seen) if numeric else None
    if (
        seen.kind in "OUST"
        and seen.values
        and len(seen.values) <= MAX_CATEGORIES
        and seen.values.total() >= MIN_REPEATS * len(seen.values)
    ):
        told["one_of"] = tuple(sorted(seen.values, key=str))
    spread = seen.kind == "f" and seen.moments.std > 0 and seen.low < 0 < seen.high  # else a few peaks look like it
    return Feature(**told, centred=spread and seen.moments.near_zero)


def suggested_range(seen: ColumnFacts) -> tuple[float, float]:
    """Return the sample's range: a usual one that it fills, else its own with three digits, rounded outwards."""
    low, high = seen.low, seen.high
    if seen.kind != "f":
        return (0, 255) if seen.dtypes == ["uint8"] and high > 128 else (low, high)
    for usual in COMMON_RANGES:
        edge = 0.05 * (usual[1] - usual[0])
        if usual[0] <= low <= usual[0] + edge and usual[1] - edge <= high <= usual[1]:
            return usual
    step = 10.0 ** (math.floor(math.log10(max(high - low, abs(high) * 1e-12, 1e-300))) - 2)
    lower, upper = (_digits(math.floor(low / step) * step), _digits(math.ceil(high / step) * step))
    return (lower if lower <= low else low, upper if upper >= high else high)


def _digits(value: float) -> float:
    return float(f"{value:.12g}")


def _dtype(seen: ColumnFacts) -> str | None:
    if len(seen.dtypes) == 1:
        return seen.dtypes[0]
    numbers = all(dtype.startswith(("int", "uint", "float")) for dtype in seen.dtypes)
    return ("number" if seen.typed else "float64") if numbers else None


def _shape(seen: ColumnFacts) -> tuple[Dimension, ...] | None:
    """Return the sizes that never changed. The first dimension counts rows."""
    ranks = {len(shape) for shape in seen.shapes}
    if seen.ragged or len(ranks) != 1 or ranks == {0}:
        return None if seen.ragged or ranks != {0} else ()
    sizes = [{shape[place] for shape in seen.shapes} for place in range(1, ranks.pop())]
    return ("batch", *(next(iter(size)) if len(size) == 1 else None for size in sizes))


def _is_label(seen: ColumnFacts) -> bool:
    named = seen.name.rpartition("/")[2].lower() in LABEL_NAMES
    vector = {len(shape) for shape in seen.shapes} == {1}
    return named and vector and not seen.ragged and seen.kind in "iuOUS" and bool(seen.values)


def _classes(seen: ColumnFacts) -> dict[str, Any]:
    assert seen.values is not None
    found = sorted(seen.values, key=lambda one: (str(type(one)), one))
    counts = seen.values.most_common()
    balance = round(0.5 * counts[-1][1] / counts[0][1], 4) if len(counts) > 1 else None  # half, for other samples
    counted = found == list(range(len(found)))
    return {"classes": len(found) if counted else tuple(found), "balance": balance or None}


def _share_up(part: int, whole: int) -> float:
    """Return a share, rounded up so that the sample fulfils it."""
    return min(1.0, math.ceil(1000 * part / whole) / 1000) if part else 0.0
