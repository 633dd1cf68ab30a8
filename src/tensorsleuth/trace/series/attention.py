"""Recorded attention weights: numbers for each head, and the weights of the first samples, reduced in size.

`native/src/kernels/attention.h` draws the same layout; a test holds both equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import TraceError
from tensorsleuth.core.layout.rows import MeasureFlag
from tensorsleuth.trace.series.watched import WatchedSeries

# Numbers for each head, over all rows of the batch that have weights.
HEAD_STATISTICS = (
    "entropy",  # mean entropy of the rows, as a share of the entropy of uniform weights
    "distance",  # mean |query - key|; NaN unless queries and keys are the same sequence
    "sink",  # mean weight on the first key
    "collapse",  # mean weight on the key with the largest weight
    "off_sum",  # the largest |sum of a row - 1|
    "ahead",  # mean weight on keys after the query; NaN unless queries and keys are the same sequence
    "nan_rows",  # number of rows with a NaN or an infinity
    "zero_rows",  # number of rows that are all zero
)
_HEADER_SIZES = ("version", "numbers", "samples", "heads", "heads_kept", "rows", "columns", "kept_rows", "kept_columns")
# How weights are kept: 0 is exactly zero, 1 almost zero, then shades as integers; the last one is NaN or infinite.
SHADES, NO_SHADE = 65533, 65535
TINY_WEIGHT = np.float32(0.25 / SHADES)
HEADER = np.dtype([(name, "<u4") for name in (*_HEADER_SIZES, "row_block", "column_block", "batch")])


@dataclass(frozen=True)
class AttentionSample:
    """One sample of one attention layer."""

    heads: int
    rows: int
    columns: int
    batch: int  # the number of samples in the batch that the statistics cover
    scale: tuple[int, int]  # how many rows, and columns, one cell of `weights` covers
    statistics: dict[str, Array]
    weights: Array  # float32 [samples, heads, rows, columns]


def read_sample(data: bytes) -> AttentionSample:
    """Decode the bytes that were kept with a row."""
    try:
        header = np.frombuffer(data, HEADER, 1)[0]
        heads, count = int(header["heads"]), int(header["numbers"])
        shape = [int(header[name]) for name in ("samples", "heads_kept", "kept_rows", "kept_columns")]
        if not count or (0 in shape and max(shape) > len(data)):  # nothing else bounds a size if another size is 0
            raise ValueError(f"{heads} heads of {shape} in {len(data)} bytes")
        numbers = np.frombuffer(data, "<f8", count * heads, HEADER.itemsize).reshape(count, heads)
        shades = np.frombuffer(data, "<u2", int(np.prod(shape)), HEADER.itemsize + numbers.nbytes).reshape(shape)
    except ValueError as error:
        raise TraceError(f"kept attention weights cannot be read: {error}.") from None
    rows, columns, batch = (int(header[name]) for name in ("rows", "columns", "batch"))
    scale = int(header["row_block"]), int(header["column_block"])
    return AttentionSample(
        heads, rows, columns, batch, scale, dict(zip(HEAD_STATISTICS, numbers, strict=False)), _weights(shades)
    )


def _weights(shades: Array) -> Array:
    weights = np.maximum(shades.astype(np.float32) - 1, 0) / np.float32(SHADES)
    weights[shades == 1] = TINY_WEIGHT
    weights[shades == NO_SHADE] = np.nan
    return weights


class AttentionSeries:
    """One attention layer over the steps: its statistics for each head, and its weights."""

    def __init__(self, series: WatchedSeries) -> None:
        self._series = series
        self.name, self.layer, self.op = series.name, series.name.partition(":")[0], series.op
        self.file, self.line = series.file, series.line
        self.by = series.by  # "probe", or "replay" if the weights come from a replayed call
        self.trains = series.trains
        self._samples: dict[int, AttentionSample | None] = {}

    def __len__(self) -> int:
        return len(self._series)

    def __repr__(self) -> str:
        return f"<attention {self.name}: {self.heads} heads, {self.rows}×{self.columns}, at {len(self):,} steps>"

    @property
    def steps(self) -> Array:
        """Return the training step of each sample."""
        return self._series.steps

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the weights at the last sample."""
        return self._series.shape()

    @property
    def heads(self) -> int:
        """Return the number of heads; 0 if no sample was kept."""
        return self._latest("heads")

    @property
    def rows(self) -> int:
        """Return the number of queries at the last sample that was kept."""
        return self._latest("rows")

    @property
    def columns(self) -> int:
        """Return the number of keys at the last sample that was kept."""
        return self._latest("columns")

    def statistics(self, look: int = -1) -> dict[str, Array]:
        """Return a sample's numbers for each head (docs/inside.md); empty if they were not kept or were overwritten."""
        kept = self.kept(look)
        return kept.statistics if kept is not None else {}

    def weights(self, look: int = -1) -> Array | None:
        """Return the weights of the first samples, float32 [samples, heads, rows, columns], reduced by `scale`."""
        kept = self.kept(look)
        return kept.weights if kept is not None else None

    def scale(self, look: int = -1) -> tuple[int, int]:
        """Return the number of rows, and of columns, that one cell of `weights` stands for."""
        kept = self.kept(look)
        return kept.scale if kept is not None else (1, 1)

    def kept(self, look: int = -1) -> AttentionSample | None:
        """Return all that was kept of a sample."""
        at = range(len(self))[look]
        if at not in self._samples:
            data = self._series.kept(at, MeasureFlag.ATTENTION)
            self._samples[at] = read_sample(data) if data else None
        return self._samples[at]

    def _latest(self, name: str) -> int:
        looks = (self.kept(look) for look in range(len(self) - 1, -1, -1))
        return next((int(getattr(kept, name)) for kept in looks if kept is not None), 0)
