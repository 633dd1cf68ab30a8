"""Watched series, read back: one for each watched tensor or variable, with its measures as NumPy columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError, TraceError
from tensorsleuth.core.layout.histogram_bins import BINS, bin_edges
from tensorsleuth.core.layout.rows import QUANTILES, VALUE, WATCHED, MeasureFlag
from tensorsleuth.core.ops.activations import MAX_SLOPES, relative_slope
from tensorsleuth.core.series import SERIES_KINDS, Series
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.storage.ring_reader import RingFile
from tensorsleuth.trace.storage.size_plan import WATCHED_VALUE_BYTES
from tensorsleuth.trace.storage.values import decode, read_bytes

WATCHED_FILE = "watched.bin"
DICT_COLUMNS = (
    "step",
    "time",
    "iteration",
    "elements",
    "nan",
    "neg_inf",
    "pos_inf",
    "zero",
    "min",
    "max",
    "sum",
    "norm",
)


class WatchedRows:
    """The rows of one process, and the bytes that were kept with them."""

    def __init__(
        self,
        folder: Any,
        prefix: str = "watched",
        value_bytes: int = WATCHED_VALUE_BYTES,
        layout: np.dtype[Any] = WATCHED,
    ) -> None:
        self._folder, self._prefix, self._value_bytes = folder, prefix, value_bytes
        self._ring = RingFile(folder / f"{prefix}.bin", layout)
        self.rows, self.numbers = self._ring.array, self._ring.numbers()
        self.epoch = self._ring.epoch
        self.damage = self._ring.damage

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        """Map the number of a row to offset and size of its kept bytes, unless these were overwritten."""
        try:
            kept = RingFile(self._folder / f"{self._prefix}_value_rows.bin", VALUE).array
        except TraceError:
            return {}
        end = int((kept["offset"] + kept["size"]).max(initial=0))
        kept = kept[kept["offset"] + np.uint64(self._value_bytes) >= end]
        places = zip(kept["offset"].tolist(), kept["size"].tolist(), strict=True)
        return dict(zip(kept["event"].tolist(), places, strict=True))

    def kept_bytes(self, at: int) -> bytes | None:
        """Return the bytes that were kept with a row."""
        place = self._places.get(int(self.numbers[at]))
        if place is None:
            return None
        return read_bytes(self._folder / f"{self._prefix}_values.bin", place[0] % self._value_bytes, place[1])


def last_of_steps(at: Array, rows: WatchedRows, kind: str) -> Array:
    """Return a variable's last row of each step, since it may be written again after the training function returned."""
    if kind not in ("variable", "update"):
        return at
    steps = rows.rows["step"][at]
    return at[np.append(steps[1:] != steps[:-1], True)] if len(at) else at


class WatchedSeries:
    """A watched tensor or variable, over the steps."""

    def __init__(self, process: ProcessTrace, series: Series, rows: WatchedRows, at: Array) -> None:
        self.number = series.number
        self.name, self.kind, self.tag = series.name, series.kind, series.tag
        self.file, self.line = series.file, series.line
        self.trains, self.op, self.by = series.trains, series.op, series.by or "probe"  # for layer statistics
        self.activation = series.activation
        self._process, self._source, self._at = process, rows, at
        self.rows = rows.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}: {', '.join(self.what)} at {len(self):,} steps>"

    @cached_property
    def what(self) -> tuple[str, ...]:
        """The kept measures: scalar, norm, histogram, quantiles, image, text, value."""
        flags = int(np.bitwise_or.reduce(self.rows["flags"], initial=0))
        return tuple(str(one.name).lower() for one in MeasureFlag if one & flags and one < MeasureFlag.EXACT)

    @property
    def steps(self) -> Array:
        """The training step of each sample."""
        return self.rows["step"]

    @property
    def norm(self) -> Array:
        """The L2 norm, of the finite values; NaN where there are none."""
        return np.where(self._has_no_finite, np.nan, self.rows["norm"])

    @property
    def zeros(self) -> Array:
        """Return the share of values that are zero; NaN where none is finite."""
        elements = np.where(self._has_no_finite, 0, self.rows["elements"]).astype(np.float64)
        return np.asarray(np.divide(self.rows["zero"], elements, out=np.full(len(self), np.nan), where=elements > 0))

    @property
    def scalar(self) -> Array:
        """The value of a tensor with one element, else NaN."""
        rows = self.rows
        value = np.where((rows["elements"] == 1) & (rows["nan"] == 0), rows["sum"], np.nan)
        value = np.where((rows["elements"] == 1) & (rows["pos_inf"] > 0), np.inf, value)
        return np.where((rows["elements"] == 1) & (rows["neg_inf"] > 0), -np.inf, value)

    @property
    def mean(self) -> Array:
        """The mean of the finite values, or NaN if there are none."""
        finite = self._finite
        return np.asarray(np.divide(self.rows["sum"], finite, out=np.full(len(self), np.nan), where=finite > 0))

    @property
    def std(self) -> Array:
        """The standard deviation of the finite values, or NaN if there are none."""
        finite = self._finite
        squares = np.divide(self.rows["norm"] ** 2, finite, out=np.full(len(self), np.nan), where=finite > 0)
        return np.asarray(np.sqrt(np.maximum(squares - self.mean**2, 0.0)))

    @property
    def dead(self) -> Array:
        """The number of a ReLU's units, along the last axis, that are zero for all samples; NaN for other ops."""
        return np.where(self.rows["flags"] & MeasureFlag.UNITS != 0, self.rows["before"], np.nan)

    @property
    def units(self) -> Array:
        """The number of units of the layer; `dead` counts some of them."""
        return np.where(self.rows["flags"] & MeasureFlag.UNITS != 0, self.rows["change"], np.nan)

    @property
    def saturated(self) -> Array:
        """The share of a tanh's or sigmoid's slope that is lost, 0 … 1; NaN for other ops."""
        if self.activation not in MAX_SLOPES:
            return np.full(len(self), np.nan)
        return np.asarray(1.0 - relative_slope(self.activation, self.mean, self.mean**2 + self.std**2))

    def shape(self, look: int = -1) -> tuple[int, ...]:
        """Return the shape of the tensor at a sample."""
        return tuple(self._process.shape_of(self.rows[look]) or ())

    @property
    def ratio(self) -> Array:
        """The ‖change in the step‖ / ‖value before it‖ of a variable or an update, or NaN if unknown."""
        rows = self.rows
        known = (rows["flags"] & MeasureFlag.COMPARED != 0) & (rows["before"] > 0)
        return np.asarray(np.divide(rows["change"], rows["before"], out=np.full(len(rows), np.nan), where=known))

    @property
    def histogram(self) -> Array:
        """The number of values in each of 64 bins from the smallest to the largest, a row for each sample."""
        return self.rows["bins"]

    @property
    def edges(self) -> Array:
        """The 65 edges of the bins, a row for each sample."""
        both = zip(self.rows["min"].tolist(), self.rows["max"].tolist(), strict=True)
        found = [bin_edges(low, high) for low, high in both]
        return np.array(found).reshape(len(self), BINS + 1)

    @property
    def quantiles(self) -> dict[float, Array]:
        """Values by quantile: exact for up to 65,536 elements, else estimated from the histogram."""
        return {at: self.rows["quantiles"][:, number] for number, at in enumerate(QUANTILES)}

    def value(self, look: int = -1) -> Array | None:
        """Return the whole tensor, if it was kept."""
        return self._array(look, MeasureFlag.VALUE)

    def image(self, look: int = -1) -> Array | None:
        """Return images as [N, H, W, C], at most four of a batch, if they were kept."""
        array = self._array(look, MeasureFlag.IMAGE)
        if array is None or not 2 <= array.ndim <= 4:
            return None
        several = array.ndim == 4 or (array.ndim == 3 and array.shape[2] > 4)
        array = array if several else array[np.newaxis]
        return array if array.ndim == 4 else array[..., np.newaxis]

    def texts(self, look: int = -1) -> list[str]:
        """Return the texts of a tensor of strings, at most 64, each cut at 4096 bytes."""
        data, texts, at = self.kept(look, MeasureFlag.TEXT) or b"", [], 0
        while at + 4 <= len(data):
            size = int.from_bytes(data[at : at + 4], "little")
            texts.append(data[at + 4 : at + 4 + size].decode(errors="replace"))
            at += 4 + size
        return texts

    def kept(self, look: int, measure_flag: MeasureFlag) -> bytes | None:
        """Return the bytes that a measure kept at a sample, if that measure was requested."""
        if not -len(self) <= look < len(self):
            raise SleuthError(f"{self.name} has {len(self):,} samples: there is no sample {look}.")
        return self._source.kept_bytes(int(self._at[look])) if self.rows["flags"][look] & measure_flag else None

    def _array(self, look: int, measure_flag: MeasureFlag) -> Array | None:
        data = self.kept(look, measure_flag)
        shape = self._process.shape_of(self.rows[look])
        if data is None or shape is None:
            return None
        some = _is_image_batch(shape, self.rows["flags"][look]) or (self.kind in ("input", "prediction") and shape)
        part = (int(self.rows["kept"][look]), *shape[1:]) if some else shape
        return decode(data, int(self.rows["dtype"][look]), part)

    @property
    def _finite(self) -> Array:
        """Return the number of finite values."""
        rows = self.rows
        return np.asarray((rows["elements"] - rows["nan"] - rows["neg_inf"] - rows["pos_inf"]).astype(np.float64))

    @property
    def _has_no_finite(self) -> Array:
        """Return which samples have values of which none is finite."""
        return np.asarray((self._finite <= 0) & (self.rows["elements"] > 0))

    def to_dict(self) -> dict[str, Any]:
        """Return the columns for pandas: `pandas.DataFrame(series.to_dict())`."""
        columns = {name: self.rows[name] for name in DICT_COLUMNS}
        columns["time"] = (self.rows["time"].astype(np.int64) + self._source.epoch) / 1e9
        return {"name": np.full(len(self), self.name), "kind": np.full(len(self), self.kind), **columns} | {
            "mean": self.mean,
            "scalar": self.scalar,
            "ratio": self.ratio,
        }


def _is_image_batch(shape: tuple[int, ...], flags: int) -> bool:
    """Return whether only the first images of a batch were kept, as in native/src/observers/watches.cc."""
    return not flags & MeasureFlag.VALUE and (len(shape) == 4 or (len(shape) == 3 and shape[2] > 4))


def trouble_in(process: ProcessTrace) -> list[str]:
    """Return messages about the watched parts that could not be read."""
    if not (process.folder / WATCHED_FILE).exists():
        return []
    try:
        return WatchedRows(process.folder).damage
    except TraceError as error:
        return [str(error)]


def watched_in(process: ProcessTrace) -> Iterator[WatchedSeries]:
    """Yield the series of one process, in the order of their first rows."""
    try:
        rows = WatchedRows(process.folder)
    except TraceError:
        return  # nothing was watched, or `trouble_in` says why it cannot be read
    for number, series in sorted(process.catalogue.series.items()):
        at = last_of_steps(np.flatnonzero(rows.rows["series"] == number), rows, series.kind)
        if len(at):
            yield WatchedSeries(process, series, rows, at)


def select_series(processes: list[ProcessTrace], name: str | None, kind: str | None) -> list[WatchedSeries]:
    """Return the series of a kind whose name matches a regular expression, in whole or from scope to scope."""
    if kind is not None and kind not in SERIES_KINDS:
        raise SleuthError(f"There is no kind {kind!r} of watched things; the kinds are {', '.join(SERIES_KINDS)}.")
    is_named = name_matcher(name)
    found = (series for process in processes for series in watched_in(process))
    return [one for one in found if is_named(one.name) and (kind is None or one.kind == kind)]


def name_matcher(name: str | None) -> Callable[[str], bool]:
    """Return a test of names against a regular expression, in whole or from scope to scope; None accepts all."""
    try:
        pattern = re.compile(f"(?:.*/)?(?:{name})(?:/.*)?") if name is not None else None
    except re.error as error:
        raise SleuthError(f"name {name!r} is not a regular expression: {error}.") from None
    return lambda one: pattern is None or bool(pattern.fullmatch(one)) or one == name
