"""The numbers that the program fed and that an op was computed from: how large they are, and the line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.confidence import MEDIUM_CONFIDENCE
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor, Row, uid_of

MAX_HOPS = 12  # ops between what was fed and the case
MAX_HOPS_TO_BATCH = 80
MIN_OUTLIER = 5.0  # times the largest value of a usual batch
UNSCALED = 20.0  # data that is scaled to 0 … 1, or to a deviation of 1, stays below
MODERATE = 20.0  # an argument of exp that overflows nowhere
BYTE_MAX = 255.0  # of pixels
TABLE_RANK = 2  # rows of columns, each with a range of its own
MENDED_BY_SCALING = ("exp-overflow", "sinh-overflow", "learning-rate")  # causes


@dataclass(frozen=True)
class FedRange:
    """The smallest and the largest number of what was fed."""

    low: float
    high: float
    frame: Frame | None
    rank: int = 0

    @property
    def max_abs(self) -> float:
        return max(-self.low, self.high)

    @property
    def scaling(self) -> str:
        """`x / 255`"""
        is_table = self.rank == TABLE_RANK and self.max_abs > BYTE_MAX
        return "(x - mean) / std of each column, and of large targets" if is_table else f"x / {self.max_abs:.4g}"

    @property
    def words(self) -> str:
        """`0 … 255 (fed in line 12)`"""
        where = f" (fed in line {self.frame.line})" if self.frame is not None else ""
        return f"{self.low:.4g} … {self.high:.4g}{where}"


@dataclass(frozen=True)
class OutlierBatch:
    """A batch with numbers that are far larger than those of the others."""

    max_abs: float
    usual: float
    step: int | None
    is_now: bool  # in the call of the case; else it may have thrown the weights before
    frame: Frame | None

    @property
    def times(self) -> float:
        return self.max_abs / self.usual

    @property
    def words(self) -> str:
        """`and the batch that went in holds numbers up to 881, 250 times as large as usual (fed in line 60)`"""
        line = f" (fed in line {self.frame.line})" if self.frame is not None else ""
        which = "the batch that went in" if self.is_now else f"an earlier batch, of step {self.step},"
        return f"and {which} holds numbers up to {self.max_abs:.4g}, {self.times:,.3g} times as large as usual{line}"


def unscaled_data(case: Case) -> FedRange | None:
    """Return the range of the largest data that the op was computed from; None if it is about as large as 1."""
    seen = max(_fed_tensors(case), key=lambda one: one.max_abs, default=None)
    if seen is None or not seen.max_abs >= UNSCALED:
        return None
    site = seen.tensor.site
    return FedRange(seen.min, seen.max, site.frame if site is not None else None, len(seen.shape or ()))


def with_data_scale(case: Case, story: Explanation) -> Explanation:
    """Advise to scale the data first, if the op or the rate would do for data of about 1."""
    if outlier_batch(case) is not None:
        return story
    data, largest = unscaled_data(case), case.largest_input
    if data is None or (story.cause != "learning-rate" and _is_large_anyway(data, largest)):
        return story
    scaled = f"scale what goes in to about −1 … 1 first, it is {data.words}: {data.scaling}"
    then = "then" if story.cause == "learning-rate" else "if it still overflows,"
    return replace(story, fix=f"{scaled}; {then} {story.fix}")


def outlier_batch(case: Case) -> OutlierBatch | None:
    """Return a batch, of those that the op was computed from, that was far larger than the others before it."""
    found = (_outlier(case, one) for one in _fed_tensors(case, MAX_HOPS_TO_BATCH))
    return max((one for one in found if one is not None), key=lambda one: one.times, default=None)


def _outlier(case: Case, one: ObservedTensor) -> OutlierBatch | None:
    """Return the largest of what was fed there, each time up to the case, if it is an outlier."""
    events, row = case.process.events, one.row
    if row is None:
        return None
    rows = events[(events["tensor"] == row["tensor"]) & (events["time"] <= row["time"])]
    rank = len(one.shape or ())
    alike = [len(case.process.shape_of(each) or ()) == rank for each in rows]  # a line may feed several tensors
    rows = rows[np.array(alike, bool) & (rows["flags"] & EventFlag.RANGED != 0)]
    sizes = np.maximum(np.abs(rows["min"]), np.abs(rows["max"]))
    at = int(np.argmax(sizes)) if len(sizes) > 1 else 0
    usual = float(np.median(np.delete(sizes, at))) if len(sizes) > 1 else 0.0
    if not usual or sizes[at] < MIN_OUTLIER * usual:
        return None
    site, is_now = one.tensor.site, at == len(sizes) - 1
    frame = site.frame if site is not None else None
    return OutlierBatch(float(sizes[at]), usual, _step(case, rows[at]), is_now, frame)


def _step(case: Case, row: Row) -> int | None:
    """Return the step that took what was fed: Python converts it at the end of the step before."""
    calls = case.finder.call_graphs.calls
    takers = calls.consumers(uid_of(row)) if row["kind"] == EventKind.EAGER else []
    return calls.step(takers[0]) if takers else case.process.step_of(row)


def with_outlier_batch(story: Explanation, outlier: OutlierBatch) -> Explanation:
    """Say that one batch was far larger than the others; if it came earlier, it may have thrown the weights."""
    fix = f"look at that batch first (sleuth data check), and clip or scale what goes in; {story.fix}"
    confidence = story.confidence if outlier.is_now else min(story.confidence, MEDIUM_CONFIDENCE)
    return replace(story, why=f"{story.why}, {outlier.words}", fix=fix, confidence=confidence)


def _is_large_anyway(fed_range: FedRange, largest: ObservedTensor | None) -> bool:
    """Return whether the argument would be too large for scaled data as well."""
    return largest is None or largest.max_abs / fed_range.max_abs > MODERATE


def _fed_tensors(case: Case, hops: int = MAX_HOPS) -> Iterator[ObservedTensor]:
    """Yield the arrays that went in; numbers by themselves are settings of the program."""
    start = case.forward_node
    for node in case.neighbours.ancestors(start, hops) if start is not None else ():
        if node.type in EXTERNAL_SOURCES:
            found = case.neighbours.recorded_outputs(node)
            yield from (one for one in found if one.has_range and one.elements > 1 and one.max_abs == one.max_abs)
