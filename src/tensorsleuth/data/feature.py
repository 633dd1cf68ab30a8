"""The expectations on one part of a data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from tensorsleuth.core.errors import SleuthError

Dimension = str | int | None
DTYPE_KINDS = {"float": "f", "int": "iu", "number": "fiu", "string": "UOST", "bool": "b"}  # besides the exact names
DTYPE_NAMES = {
    *(f"float{bits}" for bits in (16, 32, 64)),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("bfloat16", "complex64", "complex128", "datetime64", "timedelta64"),
    *DTYPE_KINDS,
}


@dataclass(frozen=True)
class Feature:
    """The expectations on one array, column or component. Expectations that are not given are not checked.

    Feature("float32", shape=("batch", 28, 28), between=(0, 1))
    """

    dtype: str | None = None  # float32, int64, string…; or a kind: float, int, number
    shape: tuple[Dimension, ...] | None = None  # a number, a name (equal names are equal sizes), None for any size
    between: tuple[float | None, float | None] | None = None  # both included; None or an infinity: no bound
    one_of: tuple[Any, ...] | None = None
    finite: bool = True  # no infinities; NaN count as missing
    missing: float = 0.0  # the share of the values that may be NaN, None or empty
    constant: bool = False  # whether all its values may be the same
    duplicate: bool = False  # whether it may equal another feature
    centred: bool = False  # whether its mean should be near 0, within a tenth of the deviation
    optional: bool = False  # whether it may be absent

    def __post_init__(self) -> None:
        self._settle("dtype", _dtype(self.dtype))
        self._settle("shape", _shape(self.shape))
        self._settle("between", _bounds(self.between))
        self._settle("one_of", None if self.one_of is None else tuple(_listed(self.one_of, "one_of")))
        self._settle("missing", _share(self.missing, "missing"))

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and largest allowed value."""
        low, high = self.between or (None, None)
        return -math.inf if low is None else low, math.inf if high is None else high

    def _settle(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        told = [
            f"{field.name}={value!r}" for field in fields(self) if (value := getattr(self, field.name)) != field.default
        ]
        return f"{type(self).__name__}({', '.join(told)})"


@dataclass(frozen=True, repr=False)
class Label(Feature):
    """The target of a model: integers from 0, or names, or one-hot rows (shares with sum 1).

    Label(classes=10)
    """

    classes: int | tuple[Any, ...] | None = None  # their number, counted from 0, or a list of them
    balance: float | None = None  # the rarest class has at least this share of the most frequent one's rows

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.classes, bool) or (isinstance(self.classes, int) and self.classes < 1):
            raise SleuthError(
                f"classes={self.classes!r}: it must be the number of classes, 1 or more, or a list of them."
            )
        if self.classes is not None and not isinstance(self.classes, int):
            self._settle("classes", tuple(_listed(self.classes, "classes")))
        if self.balance is not None:
            self._settle("balance", _share(self.balance, "balance"))

    @property
    def names(self) -> tuple[Any, ...] | None:
        """All classes."""
        return tuple(range(self.classes)) if isinstance(self.classes, int) else self.classes


def _dtype(given: Any) -> str | None:
    if given is None:
        return None
    name = given if isinstance(given, str) else str(getattr(given, "name", None) or getattr(given, "__name__", given))
    name = {"str": "string", "bytes": "string", "object": "string"}.get(name, name)
    if name not in DTYPE_NAMES:
        raise SleuthError(f"dtype={given!r} is not known. Choose one of {', '.join(sorted(DTYPE_NAMES))}.")
    return str(name)


def _shape(given: Any) -> tuple[Dimension, ...] | None:
    if given is None:
        return None
    shape = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    wrong = [one for one in shape if not (one is None or isinstance(one, (str, int))) or isinstance(one, bool)]
    if wrong:
        raise SleuthError(f"shape={given!r} has {wrong[0]!r}: a dimension is a number, a name, or None for any size.")
    return shape


def _bounds(given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    if not isinstance(given, Sequence) or len(given) != 2:
        raise SleuthError(f"between={given!r} must be the smallest and the largest value, such as (0, 1).")
    low, high = -math.inf if given[0] is None else given[0], math.inf if given[1] is None else given[1]
    if not low <= high:
        raise SleuthError(f"between={given!r}: the first must not be greater than the second.")
    return low, high


def _share(given: Any, name: str) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 1:
        raise SleuthError(f"{name}={given!r} must be a share from 0 to 1.")
    return float(given)


def _listed(given: Any, name: str) -> Sequence[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset) or not given:
        raise SleuthError(f"{name}={given!r} must be a list of at least one value.")
    return [value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value for value in given]
