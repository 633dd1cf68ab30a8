"""The numbers that the program fed and that an op was computed from: how large they are, and the line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

MAX_HOPS = 12  # ops between what was fed and the case
UNSCALED = 20.0  # data that is scaled to 0 … 1, or to a deviation of 1, stays below
MODERATE = 20.0  # an argument of exp that overflows nowhere
MENDED_BY_SCALING = ("exp-overflow", "sinh-overflow", "learning-rate")  # causes


@dataclass(frozen=True)
class FedRange:
    """The smallest and the largest number of what was fed."""

    low: float
    high: float
    frame: Frame | None

    @property
    def max_abs(self) -> float:
        return max(-self.low, self.high)

    @property
    def words(self) -> str:
        """`0 … 255 (fed in line 12)`"""
        where = f" (fed in line {self.frame.line})" if self.frame is not None else ""
        return f"{self.low:.4g} … {self.high:.4g}{where}"


def unscaled_data(case: Case) -> FedRange | None:
    """Return the range of the largest data that the op was computed from; None if it is about as large as 1."""
    seen = max(_fed_tensors(case), key=lambda one: one.max_abs, default=None)
    if seen is None or not seen.max_abs >= UNSCALED:
        return None
    site = seen.tensor.site
    return FedRange(seen.min, seen.max, site.frame if site is not None else None)


def with_data_scale(case: Case, story: Explanation) -> Explanation:
    """Advise to scale the data first, if the op or the rate would do for data of about 1."""
    data, largest = unscaled_data(case), case.largest_input
    if data is None or (story.cause != "learning-rate" and _is_large_anyway(data, largest)):
        return story
    then = "then" if story.cause == "learning-rate" else "if it still overflows,"
    fix = f"scale what goes in to about −1 … 1 first, it is {data.words}: x / {data.max_abs:.4g}; {then} {story.fix}"
    return replace(story, fix=fix)


def _is_large_anyway(fed_range: FedRange, largest: ObservedTensor | None) -> bool:
    """Return whether the argument would be too large for scaled data as well."""
    return largest is None or largest.max_abs / fed_range.max_abs > MODERATE


def _fed_tensors(case: Case) -> Iterator[ObservedTensor]:
    """Yield the arrays that went in; numbers by themselves are settings of the program."""
    start = case.forward_node
    for node in case.neighbours.ancestors(start, MAX_HOPS) if start is not None else ():
        if node.type in EXTERNAL_SOURCES:
            found = case.neighbours.recorded_outputs(node)
            yield from (one for one in found if one.has_range and one.elements > 1 and one.max_abs == one.max_abs)
