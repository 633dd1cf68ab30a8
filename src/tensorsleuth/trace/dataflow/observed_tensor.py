"""A recorded tensor: its op, and the statistics of its values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.reductions import MAX_POOLS
from tensorsleuth.trace.process.process import ProcessTrace, TensorInfo

Row = Any
_LOWEST_VALUES = {1: -3.4028234e38, 2: -1.7976931348623157e308, 14: -3.3895e38, 19: -65504.0}  # by dtype
_GRADIENT_SCOPE = re.compile("(^|/)gradient(s|_tape)/")
Key = tuple[int, int, int, int]


def uid_of(row: Row) -> int:
    """Return the uid of an eager tensor, from the two halves in its row."""
    return int(row["iteration"]) | int(row["frame"]) << 32


def uids_of(rows: Array) -> Array:
    """Return the uids of many rows at once."""
    return rows["iteration"].astype(np.uint64) | (rows["frame"].astype(np.uint64) << np.uint64(32))


def has_lowest_value(row: Row) -> bool:
    """Return whether its smallest value is the lowest finite value of its dtype."""
    smallest = _LOWEST_VALUES.get(int(row["dtype"]))
    return smallest is not None and bool(row["flags"] & EventFlag.RANGED) and float(row["min"]) <= smallest


@dataclass(frozen=True)
class ObservedTensor:
    """A tensor with its row, which has its health. A constant has its values in place of a row."""

    process: ProcessTrace
    tensor: TensorInfo
    row: Row | None = None
    constant: tuple[float, ...] | None = None
    call: int = -1  # that computed it

    @property
    def key(self) -> Key:
        """Return the identity of a tensor: its call, id, loop frame and iteration."""
        if self.row is None:
            return (self.call, -1, id(self.tensor.node), 0)
        return self.call, int(self.row["tensor"]), int(self.row["frame"]), int(self.row["iteration"])

    @property
    def op(self) -> str:
        return self.tensor.type

    @property
    def is_gradient(self) -> bool:
        """Return whether it was computed to differentiate something."""
        tensor = self.tensor
        if tensor.eager is not None:
            return tensor.eager.forward > 0
        return tensor.node is not None and (
            tensor.node.forward is not None or bool(_GRADIENT_SCOPE.search(tensor.node.name))
        )

    @property
    def has_range(self) -> bool:
        return self.constant is not None or (self.row is not None and bool(self.row["flags"] & EventFlag.RANGED))

    @property
    def has_health(self) -> bool:
        return self.row is not None and bool(self.row["flags"] & EventFlag.LOOKED)

    @property
    def bad(self) -> bool:
        if self.constant is not None:
            return not all(math.isfinite(value) for value in self.constant)
        return self.row is not None and (bool(self.row["flags"] & EventFlag.BAD) or self.hides_nan)

    @property
    def hides_nan(self) -> bool:
        """Return whether it is a maximum over NaN alone: TensorFlow's pools then return the dtype's lowest value."""
        return self.op in MAX_POOLS and self.row is not None and has_lowest_value(self.row)

    @property
    def has_nan(self) -> bool:
        """Return whether it holds a NaN. A bad tensor whose NaN were not counted may hold one."""
        if self.hides_nan:
            return True
        if self.constant is None and self.row is not None and not self.row["flags"] & EventFlag.COUNTED:
            return self.bad
        return self.count("nan") > 0

    @property
    def has_inf(self) -> bool:
        return self.count("neg_inf") + self.count("pos_inf") > 0

    def count(self, name: str) -> int:
        """Return the number of elements that are `zero`, `neg`, `pos`, `nan`, `neg_inf` or `pos_inf`."""
        if self.constant is not None:
            return sum(_ELEMENT_TESTS[name](value) for value in self.constant)
        return int(self.row[name]) if self.row is not None else 0

    @property
    def elements(self) -> int:
        shape = self.shape
        if shape is not None:
            return math.prod(shape)
        return sum(self.count(name) for name in _ELEMENT_TESTS)

    @property
    def min(self) -> float:
        return min(self.constant, default=math.nan) if self.constant is not None else self._stat("min")

    @property
    def max(self) -> float:
        return max(self.constant, default=math.nan) if self.constant is not None else self._stat("max")

    @property
    def max_abs(self) -> float:
        """Return the largest absolute value among the finite values."""
        return max(abs(self.min), abs(self.max))

    def _stat(self, name: str) -> float:
        return float(self.row[name]) if self.has_range and self.row is not None else math.nan

    @property
    def dtype(self) -> str:
        if self.row is not None:
            return dtype_of(int(self.row["dtype"])).name
        node = self.tensor.node
        return dtype_of(node.dtypes[0]).name if node is not None and node.dtypes else "float32"

    @property
    def is_half(self) -> bool:
        return self.dtype in ("float16", "bfloat16")

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self.process.shape_of(self.row) if self.row is not None else None

    @property
    def first_bad(self) -> tuple[int, ...] | None:
        """Return the index of the first NaN or infinite value."""
        shape = self.shape
        if not self.bad or shape is None or self.row is None or not math.prod(shape):
            return None
        flat = int(self.row["first_bad"])
        index: list[int] = []
        for size in reversed(shape):
            index.insert(0, flat % size)
            flat //= size
        return tuple(index)


_ELEMENT_TESTS: dict[str, Callable[[float], bool]] = {
    "neg_inf": lambda value: value == -math.inf,
    "pos_inf": lambda value: value == math.inf,
    "nan": math.isnan,
    "neg": lambda value: -math.inf < value < 0,
    "zero": lambda value: value == 0,
    "pos": lambda value: 0 < value < math.inf,
}
