"""The shapes that did not fit together, the lines that they come from, and which of them to change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.core.catalog import Frame, Site
from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.ops.indexing import LABEL_OPS
from tensorsleuth.core.ops.kinds import writes_variables
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.core.ops.views import JOINS, SHAPE_INPUTS
from tensorsleuth.diagnose.exits.refusals.reshapes import Reshaping, wrong_reshaping
from tensorsleuth.diagnose.exits.refusals.size_source import Axis, size_source
from tensorsleuth.diagnose.exits.sized_tensor import SizedTensor, SizedTensors

SURE, LIKELY = 0.9, 0.75  # of the line: other variables have the other size, or nothing tells
MAX_SHOWN = 4  # tensors in a sentence
_CONTRACTIONS = re.compile("matmul|conv|dot", re.I)
_ONE_FOR_EACH_ROW = re.compile(r"(except for|up until) the last dimension")
_OP_NAME = re.compile("[A-Z]")  # functions of Python begin with a small letter
_SPARSE_IN_PARTS = re.compile("Sparse(?!Softmax)")  # its inputs are indices, values and shapes, which do not compare
_TWO_SIZES = re.compile(r"(\d+) (?:and|vs\.?|but .*?) (\d+)|dimension (\d+) .*?dimension (\d+)")


@dataclass(frozen=True)
class Culprit:
    """The tensor that chose a size which nothing else has."""

    tensor: SizedTensor
    wrong: int | None
    right: int | None
    confidence: float
    reshaping: Reshaping | None = None  # if it is a reshape


class MetShapes:
    """The tensors that an op or a check refused."""

    def __init__(self, tensors: SizedTensors, op: str, site: Site | None, operands: list[SizedTensor]) -> None:
        self._tensors = tensors
        self._callers = site.frames if site is not None else ()
        self.op = op
        self.frame: Frame | None = site.frame if site is not None else None
        self.operands = [one for one in operands if one.shape is not None]

    @property
    def is_op(self) -> bool:
        """Return whether an op refused them, not a check in Python."""
        return bool(_OP_NAME.match(self.op))

    @property
    def met(self) -> str:
        """Return the tensors in words: `[32, 128] of train.py:21 and w2 [100, 10] of train.py:9`."""
        words = [one.words(self.frame) for one in self.operands[:MAX_SHOWN]]
        return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 2 else words)

    @property
    def has_lines(self) -> bool:
        """Return whether one of them was made in another line."""
        return any(one.frame not in (None, self.frame) for one in self.operands)

    def conflict(self, message: str) -> tuple[Axis, Axis] | None:
        """Return the two axes whose sizes differ: those that the message names, else the likeliest."""
        if _SPARSE_IN_PARTS.match(self.op):
            return None
        pairs = [pair for pair in self._pairs(message) if _differ(*pair, broadcasts=self.op not in JOINS)]
        two = _two_sizes(message)
        numbers = {int(size) for size in re.findall(r"\d+", message)}
        named = [pair for pair in pairs if {pair[0].size, pair[1].size} in two]
        likely = [pair for pair in pairs if {pair[0].size, pair[1].size} <= numbers]
        return next(iter(named or likely or (pairs if self.is_op else ())), None)

    def is_proved(self, conflict: tuple[Axis, Axis], message: str) -> bool:
        """Return whether the message names the two sizes, and no variable chose one of them elsewhere."""
        is_named = {conflict[0].size, conflict[1].size} in _two_sizes(message)
        return self.is_op and is_named and not any(size_source(axis).tensor.is_variable for axis in conflict)

    def _pairs(self, message: str) -> Iterator[tuple[Axis, Axis]]:
        """Yield the axes that may have to agree, the likeliest first."""
        if self.op in SHAPE_INPUTS or not self.operands:
            return
        first, *others = self.operands
        for other in others:
            if self.op in LABEL_OPS or _ONE_FOR_EACH_ROW.search(message):
                yield from _leading_axes(first, other)
                continue
            if self.op in LAYER_PRODUCTS or _CONTRACTIONS.search(self.op):
                yield Axis(first, -1), Axis(other, -2)
            yield from ((Axis(first, -at), Axis(other, -at)) for at in range(1, len(other.shape or ()) + 1))

    def culprit(self, conflict: tuple[Axis, Axis]) -> Culprit | None:
        """Return the reshape that mixes samples; else the variable that has a size which no other has, unless that
        may be said of the other side.
        """
        places = [size_source(axis) for axis in conflict]
        for place, other in zip(places, reversed(conflict), strict=True):
            reshaping = wrong_reshaping(place, other.size)
            if reshaping is not None:
                return Culprit(place.tensor, place.size, other.size, SURE, reshaping)
        sources = [place.tensor for place in places]
        counts = [self._count(axis.size, but=source) for axis, source in zip(conflict, sources, strict=True)]
        chosen = [at for at, source in enumerate(sources) if self._is_choice(source)]
        if not chosen or writes_variables(self.op):  # the value that is written is to fit
            return None
        odd = min(chosen, key=lambda at: (counts[at], sources[at] is not conflict[at].tensor))
        if counts[odd] > counts[1 - odd] == 0:
            return None
        confidence = SURE if counts[odd] == 0 < counts[1 - odd] else LIKELY
        return Culprit(sources[odd], conflict[odd].size, conflict[1 - odd].size, confidence)

    def distant_sources(self, conflict: tuple[Axis, Axis]) -> Iterator[tuple[int | None, SizedTensor]]:
        """Yield each size that a variable chose which is not one of the tensors that met."""
        for axis in conflict:
            source = size_source(axis).tensor
            if source.is_variable and source is not axis.tensor and source.frame is not None:
                yield axis.size, source

    def _is_choice(self, source: SizedTensor) -> bool:
        """Return whether it is a variable with a line of its own: Keras builds layers in the call that failed."""
        if not source.is_variable or source.frame is None or source.frame in self._callers:
            return False
        return not self._tensors.has_worked(source.handle)  # else it is the data that changed

    def _count(self, size: int | None, but: SizedTensor) -> int:
        """Return how many other variables have an axis of that size."""
        return self._sizes[size] - int(but.handle in self._tensors.variable_shapes and size in (but.shape or ()))

    @cached_property
    def _sizes(self) -> Counter[int | None]:
        return Counter(size for shape in self._tensors.variable_shapes.values() for size in {*shape})

    def has_met(self, rows: int) -> bool:
        """Return whether batches had so many rows before, or what the op gave in its line."""
        return self.frame is not None and self._tensors.has_met(self.op, self.frame, rows)

    def evidence(self) -> Iterator[Evidence]:
        for one in self.operands:
            line = f"{one.frame.file}:{one.frame.line}" if one.frame is not None else None
            shape = tuple(-1 if size is None else size for size in one.shape or ())
            yield Evidence("in", one.name, one.op, "", shape, "", line)


def _leading_axes(first: SizedTensor, other: SizedTensor) -> Iterator[tuple[Axis, Axis]]:
    """Yield the axes of two tensors, one of which may lack the last axis: labels, a number for each row of scores."""
    ranks = len(first.shape or ()), len(other.shape or ())
    for at in range(min(*ranks) - (ranks[0] == ranks[1])):
        yield Axis(first, at - ranks[0]), Axis(other, at - ranks[1])


def _two_sizes(message: str) -> list[set[int]]:
    return [{int(size) for size in found if size} for found in _TWO_SIZES.findall(message)]


def _differ(first: Axis, second: Axis, broadcasts: bool) -> bool:
    sizes = first.size, second.size
    return None not in sizes and not (broadcasts and 1 in sizes) and first.size != second.size
