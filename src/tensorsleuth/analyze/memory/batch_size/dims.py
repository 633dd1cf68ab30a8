"""Dimensions of a tensor with their factors: the batch, the sequence, or a fixed size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod

BATCH, SEQUENCE, CONSTANT = "batch", "sequence", ""


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a dimension: `[batch * sequence, 256]` has two in its first."""

    size: int
    symbol: str = CONSTANT


@dataclass(frozen=True)
class Dim:
    """One dimension: the product of its factors, the slowest first."""

    factors: tuple[Factor, ...]

    @cached_property
    def size(self) -> int:
        return prod(one.size for one in self.factors)

    @cached_property
    def grows(self) -> bool:
        return any(one.symbol for one in self.factors)

    def power(self, symbol: str) -> int:
        """Return the power with which it grows: 1 for in proportion to the batch."""
        return sum(one.symbol == symbol for one in self.factors)

    def resized(self, size: int) -> Dim:
        """Return the dimension with another size, which strides, slices or padding cause, but with the same growth."""
        if size == self.size:
            return self
        grown = [one for one in self.factors if one.symbol]
        if size <= 1 or not grown:
            return fixed_dim(size)
        return Dim((Factor(size, grown[0].symbol), *(Factor(1, one.symbol) for one in grown[1:])))


Dims = tuple[Dim, ...]


def fixed_dim(size: int) -> Dim:
    return Dim((Factor(size),))


def fixed_dims(shape: Iterable[int]) -> Dims:
    """Return a shape of fixed dimensions."""
    return tuple(map(fixed_dim, shape))


def shape_of(dims: Dims) -> tuple[int, ...]:
    return tuple(one.size for one in dims)


def growth_power(dims: Dims, symbol: str) -> int:
    """Return the power with which all dimensions grow: attention scores grow with the square of the sequence."""
    return sum(one.power(symbol) for one in dims)


def reshaped(dims: Dims, shape: tuple[int, ...]) -> Dims | None:
    """Return the elements in another shape, row by row; factors keep their order. None if that is impossible."""
    left = [factor for one in dims for factor in one.factors if factor.size != 1]
    if prod(factor.size for factor in left) != prod(shape):
        return None
    found = []
    for size in shape:
        taken = list(_take_factors(left, size))
        if prod(factor.size for factor in taken) != size:
            return None
        found.append(Dim(tuple(taken) or (Factor(1),)))
    return tuple(found)


def _take_factors(left: list[Factor], size: int) -> Iterator[Factor]:
    """Take factors from the front until they make up a size. A factor that is too large is cut."""
    while size > 1 and left:
        factor = left.pop(0)
        part = gcd(factor.size, size)
        if part == 1:
            left.insert(0, factor)
            return
        if part < factor.size:
            left.insert(0, Factor(factor.size // part))
        yield Factor(part, factor.symbol)
        size //= part


def broadcast(inputs: Iterable[Dims]) -> Dims | None:
    """Return the result of an elementwise op; None if the shapes do not broadcast."""
    given = list(inputs)
    rank = max(map(len, given), default=0)
    padded = [(*fixed_dims([1] * (rank - len(one))), *one) for one in given]
    found = tuple(max(column, key=lambda one: (one.size, one.grows)) for column in zip(*padded, strict=True))
    fits = all(one.size in (1, most.size) for row in padded for one, most in zip(row, found, strict=True))
    return found if fits else None
