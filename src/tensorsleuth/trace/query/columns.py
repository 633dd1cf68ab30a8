"""The health of many tensors as NumPy columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import NO_INDEX, EventFlag, EventKind
from tensorsleuth.trace.process.process import ProcessTrace

_DTYPE_NAMES = np.array([dtype_of(number).name for number in range(256)], object)
_MAX_INT64 = (1 << 63) - 1


class UnknownColumn(SleuthError, KeyError):
    """A column name that does not exist."""

    def __str__(self) -> str:  # a KeyError would put it in quotes
        return str(self.args[0])


class HealthColumns(Mapping[str, Array]):
    """Columns by name, each computed at first use. Unrecorded values are -1, or NaN in min, max, mean, std."""

    def __init__(self, makers: dict[str, Callable[[], Array]], rows: int) -> None:
        self._makers = makers
        self._made: dict[str, Array] = {}
        self._rows = rows

    def __getitem__(self, name: str) -> Array:
        if name not in self._makers:
            raise UnknownColumn(f"there is no column {name!r}. Take one of {', '.join(self._makers)}.")
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __repr__(self) -> str:
        return f"<health of {self._rows:,} tensors: {', '.join(self._makers)}>"


def _count(name: str, needs: EventFlag) -> Callable[[ProcessTrace, Array], Array]:
    return lambda _, rows: np.where(rows["flags"] & needs, rows[name].astype(np.int64), -1)


def _statistic(name: str, needs: EventFlag) -> Callable[[ProcessTrace, Array], Array]:
    def make(_: ProcessTrace, rows: Array) -> Array:
        return np.where((rows["flags"] & needs != 0) & (rows["min"] <= rows["max"]), rows[name], np.nan)

    return make


def _elements(process: ProcessTrace, rows: Array) -> Array:
    sizes = np.array([-1, *(min(math.prod(shape), _MAX_INT64) for shape in process.shapes[1:])], np.int64)
    known = np.where(rows["shape"] < len(sizes), rows["shape"], 0)
    return sizes[known]


def _first_bad(_: ProcessTrace, rows: Array) -> Array:
    return np.where(rows["first_bad"] < min(int(NO_INDEX), _MAX_INT64), rows["first_bad"], -1).astype(np.int64)


def _iteration(_: ProcessTrace, rows: Array) -> Array:
    return np.where(rows["kind"] == EventKind.GRAPH, rows["iteration"].astype(np.int64), -1)


# Columns that need nothing but the rows.
COLUMNS: dict[str, Callable[[ProcessTrace, Array], Array]] = {
    "iteration": _iteration,
    "nan": _count("nan", EventFlag.COUNTED),
    "neg_inf": _count("neg_inf", EventFlag.COUNTED),
    "pos_inf": _count("pos_inf", EventFlag.COUNTED),
    "neg": _count("neg", EventFlag.RANGED),
    "zero": _count("zero", EventFlag.RANGED),
    "pos": _count("pos", EventFlag.RANGED),
    "min": _statistic("min", EventFlag.RANGED),
    "max": _statistic("max", EventFlag.RANGED),
    "mean": _statistic("mean", EventFlag.MOMENTS),
    "std": _statistic("std", EventFlag.MOMENTS),
    "dtype": lambda _, rows: _DTYPE_NAMES[rows["dtype"]],
    "elements": _elements,
    "bad": lambda _, rows: rows["flags"] & EventFlag.BAD != 0,
    "first_bad": _first_bad,
}
