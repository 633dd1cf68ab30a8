"""A table of tensors, one line each, for the terminal, notebooks and pandas."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.ops.activations import MAX_SLOPES, RELUS, relative_slope

COLUMNS = ("name", "shape", "health", "mean", "std", "norm", "zero", "dead", "saturated")
MAX_NAME_CHARS = 48  # in the terminal; a longer name keeps its end


@dataclass(frozen=True)
class TensorStatsRow:
    """The statistics of one tensor."""

    name: str  # of the layer or the variable
    shape: tuple[int, ...]
    health: str  # "ok", or the number of NaN and infinite values
    mean: float  # like the next two, of the finite values only
    std: float
    norm: float
    zero: float  # the share of zeros
    dead: int | None  # for a ReLU: units along the last axis that are zero in all rows
    saturated: float | None  # for tanh or sigmoid: the share of the slope that saturation removes


def row_of(name: str, value: Any, activation: str | None = None) -> TensorStatsRow:
    """Return the line of a tensor."""
    values = np.asarray(value)
    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    mean, std = (float(finite.mean()), float(finite.std())) if finite.size else (math.nan, math.nan)
    zero = float((numbers == 0).mean()) if finite.size else math.nan
    norm = float(np.linalg.norm(finite)) if finite.size or not numbers.size else math.nan
    saturated = (
        1.0 - float(relative_slope(str(activation), mean, mean**2 + std**2)) if activation in MAX_SLOPES else None
    )
    dead = _dead(numbers) if activation in RELUS else None
    return TensorStatsRow(name, values.shape, _health(numbers), mean, std, norm, zero, dead, saturated)


def _dead(numbers: Any) -> int | None:
    return int((numbers == 0).all(tuple(range(numbers.ndim - 1))).sum()) if numbers.ndim > 1 else None


def _health(numbers: Any) -> str:
    nan, infinite = int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
    bad = [f"{count:,} {word}" for count, word in ((nan, "NaN"), (infinite, "infinite")) if count]
    return ", ".join(bad) or "ok"


class TensorStatsTable(Sequence[TensorStatsRow]):
    """A list of lines, in the order of the model."""

    def __init__(self, title: str, tensor_stats_rows: Sequence[TensorStatsRow]) -> None:
        self.title = title
        self._lines = list(tensor_stats_rows)

    def __getitem__(self, at: Any) -> Any:
        return self._lines[at]

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[TensorStatsRow]:
        return iter(self._lines)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns, for pandas: pandas.DataFrame(table.to_dict())."""
        rows = [asdict(line) for line in self._lines]
        return {name: [row[name] for row in rows] for name in COLUMNS}

    def __str__(self) -> str:
        rows = [COLUMNS, *(_cells(line) for line in self._lines)]
        rows = [(_shortened(row[0]), *row[1:]) for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join([self.title, *(_text_row(row, widths) for row in rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        body = "".join(f"<tr>{_html_cells(line)}</tr>" for line in self._lines)
        title = html.escape(self.title)
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def plot(self, column: str = "norm") -> Any:
        """Draw a bar chart of one column with matplotlib, and return its axes."""
        if column not in COLUMNS[3:]:
            raise SleuthError(f"plot({column!r}): no such column of numbers; use one of {', '.join(COLUMNS[3:])}.")
        try:
            from matplotlib import pyplot
        except ImportError:
            raise SleuthError("plot needs matplotlib: pip install matplotlib. Or use to_dict().") from None
        _, axes = pyplot.subplots(figsize=(8, 1 + 0.25 * len(self)), layout="constrained")
        places = range(len(self))  # names would merge lines that have the same name
        axes.barh(places, [getattr(line, column) or 0 for line in self], tick_label=[line.name for line in self])
        axes.invert_yaxis()
        axes.set(title=self.title, xlabel=column)
        return axes


def _cells(tensor_stats_row: TensorStatsRow) -> tuple[str, ...]:
    shape = "×".join(map(str, tensor_stats_row.shape)) or "scalar"
    numbers = (f"{number:.3g}" for number in (tensor_stats_row.mean, tensor_stats_row.std, tensor_stats_row.norm))
    zero = "–" if math.isnan(tensor_stats_row.zero) else f"{tensor_stats_row.zero:.0%}"
    dead = "–" if tensor_stats_row.dead is None else f"{tensor_stats_row.dead:,}"
    saturated = (
        "–"
        if tensor_stats_row.saturated is None or math.isnan(tensor_stats_row.saturated)
        else f"{tensor_stats_row.saturated:.0%}"
    )
    return tensor_stats_row.name, shape, tensor_stats_row.health, *numbers, zero, dead, saturated


def _text_row(row: Sequence[str], widths: Sequence[int]) -> str:
    """Format a row: names to the left, numbers to the right."""
    pairs = zip(row, widths, strict=True)
    return "  ".join(cell.ljust(w) if at < 3 else cell.rjust(w) for at, (cell, w) in enumerate(pairs)).rstrip()


def _html_cells(tensor_stats_row: TensorStatsRow) -> str:
    bad = ' style="color: #c0392b"' if tensor_stats_row.health != "ok" else ""
    return "".join(f"<td{bad}>{html.escape(cell)}</td>" for cell in _cells(tensor_stats_row))


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARS else f"…{name[1 - MAX_NAME_CHARS :]}"
