"""The index that was out of range, as TensorFlow's message has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NUMBERS = re.compile(r"-?\d+")
_IN_RANGE = re.compile(
    r"(?:indices|segment_ids|segment ids)(?:\[(?P<place>[\d, ]*)\])? = (?P<value>-?\d+) is (?:not in|out of range) "
    r"\[(?P<low>-?\d+), ?(?P<high>-?\d+)\)"
)
_IN_SHAPE = re.compile(
    r"indices\[(?P<place>[\d, ]*)\] = \[(?P<value>[-\d, ]+)\] does not index into "
    r"(?:param )?shape \[(?P<shape>[\d, ]*)\]"
)
_LABEL = re.compile(
    r"label value of (?P<value>-?\d+) .*?outside the valid range of \[(?P<low>-?\d+), ?(?P<high>-?\d+)\)"
    r"(?:.*?Label values: (?P<all>(?:-?\d+ ?)+))?",
    re.DOTALL,
)
_SLICE = re.compile(r"slice index (?P<value>-?\d+) of dimension (?P<axis>\d+) out of bounds")
_LIST = re.compile(r"(?:index|element) (?P<value>-?\d+) .*?(?:list with|array size is:?) (?P<high>\d+)", re.DOTALL)


@dataclass(frozen=True)
class BadIndex:
    """An index, its place in the tensor of indexes, and the numbers that would be right."""

    value: int
    place: tuple[int, ...] = ()
    low: int = 0
    high: int | None = None  # one more than the largest right one; None if the message does not say
    axis: int = 0  # of the tensor that is indexed
    all: tuple[int, ...] = ()  # labels

    @property
    def words(self) -> str:
        """`99 at [0, 2]`"""
        return f"{self.value} at [{', '.join(map(str, self.place))}]" if self.place else str(self.value)

    @property
    def range_words(self) -> str | None:
        """`0 … 9`"""
        if self.high is None:
            return None
        return f"{self.low} … {self.high - 1}" if self.high - 1 > self.low else f"only {self.low}"


def bad_index(message: str) -> BadIndex | None:
    """Return the index that a message complains of; None if it complains of something else."""
    return next(_bad_indexes(message), None)


def _bad_indexes(message: str) -> Iterator[BadIndex]:
    if (found := _IN_RANGE.search(message)) is not None:
        yield BadIndex(int(found["value"]), _ints(found["place"] or ""), int(found["low"]), int(found["high"]))
    if (found := _IN_SHAPE.search(message)) is not None:
        yield from _outside_shape(_ints(found["place"]), _ints(found["value"]), _ints(found["shape"]))
    if (found := _LABEL.search(message)) is not None:
        labels = _ints(found["all"] or "")
        place = (labels.index(int(found["value"])),) if int(found["value"]) in labels else ()
        yield BadIndex(int(found["value"]), place, int(found["low"]), int(found["high"]), all=labels)
    if (found := _SLICE.search(message)) is not None:
        yield BadIndex(int(found["value"]), axis=int(found["axis"]))
    if (found := _LIST.search(message)) is not None:
        yield BadIndex(int(found["value"]), high=int(found["high"]))


def _outside_shape(place: tuple[int, ...], value: tuple[int, ...], shape: tuple[int, ...]) -> Iterator[BadIndex]:
    """Yield the coordinate that is out of range."""
    for axis, (index, size) in enumerate(zip(value, shape)):
        if not 0 <= index < size:
            yield BadIndex(index, (*place, axis), 0, size, axis)


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(text))
