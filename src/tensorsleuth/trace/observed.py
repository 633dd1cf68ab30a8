"""A tensor as it was seen at one moment: what it is, and what was in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorsleuth.model.dtypes import dtype_of
from tensorsleuth.model.rows import EventFlag
from tensorsleuth.trace.process import ProcessTrace, Tensor

Row = Any


@dataclass(frozen=True)
class Observed:
    """A tensor with the row that tells its health; a constant has its values instead."""

    process: ProcessTrace
    tensor: Tensor
    row: Row | None = None
    constant: tuple[float, ...] | None = None

    @property
    def op(self) -> str:
        return self.tensor.type

    @property
    def known(self) -> bool:
        return self.constant is not None or (self.row is not None and bool(self.row["flags"] & EventFlag.RANGED))

    @property
    def bad(self) -> bool:
        if self.constant is not None:
            return not all(math.isfinite(value) for value in self.constant)
        return self.row is not None and bool(self.row["flags"] & EventFlag.BAD)

    def count(self, name: str) -> int:
        """How many elements are `zero`, `neg`, `pos`, `nan`, `neg_inf` or `pos_inf`."""
        if self.constant is not None:
            return sum(_TESTS[name](value) for value in self.constant)
        return int(self.row[name]) if self.row is not None else 0

    @property
    def elements(self) -> int:
        shape = self.shape
        if shape is not None:
            return math.prod(shape)
        return sum(self.count(name) for name in _TESTS)

    @property
    def min(self) -> float:
        return min(self.constant, default=math.nan) if self.constant is not None else self._stat("min")

    @property
    def max(self) -> float:
        return max(self.constant, default=math.nan) if self.constant is not None else self._stat("max")

    @property
    def largest(self) -> float:
        """The largest modulus among the finite values."""
        return max(abs(self.min), abs(self.max))

    def _stat(self, name: str) -> float:
        return float(self.row[name]) if self.known and self.row is not None else math.nan

    @property
    def dtype(self) -> str:
        return dtype_of(int(self.row["dtype"])).name if self.row is not None else "float32"

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self.process.shape_of(self.row) if self.row is not None else None


_TESTS: dict[str, Callable[[float], bool]] = {
    "neg_inf": lambda value: value == -math.inf,
    "pos_inf": lambda value: value == math.inf,
    "nan": math.isnan,
    "neg": lambda value: -math.inf < value < 0,
    "zero": lambda value: value == 0,
    "pos": lambda value: 0 < value < math.inf,
}
