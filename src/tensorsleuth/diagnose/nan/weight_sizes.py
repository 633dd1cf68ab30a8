"""The size of a variable before and after each update, from what the program read and from sampled steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag, MeasureFlag
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.diagnose.nan.written_growth import written_amounts
from tensorsleuth.diagnose.training.weight_reads import WeightReads
from tensorsleuth.trace.dataflow.observed_tensor import Row
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

MAX_READS = 200  # of a variable
MAX_LATE_READS = 10  # of a variable that is read only after an op went bad
MAX_UPDATES = 10  # the last ones before the failure, that may have thrown the weights
MIN_UPDATE = 0.3  # of the size of the weights, by one update: a thousandth is usual
MIN_GROWTH = 1.5  # of the weights, by all of these updates
USUAL_RATIO = 0.01  # of the weights, that an update may well be
MIN_GAIN = 1.5  # of a layer, its output to its input: about 1 for first weights, less for small ones
LARGEST_TO_TYPICAL = 2.0  # the largest of some weights, in root mean squares


@dataclass(frozen=True)
class WeightSizes:
    """The sizes of one variable, oldest first, with one more than there are updates."""

    handle: int
    sizes: Array
    changes: Array  # by each update; at least that, if only the sizes were seen
    steps: Array  # of the updates
    gain: float  # of a layer whose weights are of size 1
    measure: str  # of the weights

    @property
    def ratios(self) -> Array:
        """Return each update as a share of the weights before it; 0 for weights that were all 0."""
        before = self.sizes[:-1]
        return np.asarray(np.divide(self.changes, before, out=np.zeros(len(before)), where=before > 0))

    @property
    def began(self) -> int:
        """Return the first of the last updates that was far too large."""
        first = max(len(self.changes) - MAX_UPDATES, 0)
        return first + int(np.argmax(self.ratios[first:] >= MIN_UPDATE))

    @property
    def largest_ratio(self) -> float:
        return float(self.ratios[-MAX_UPDATES:].max(initial=0.0))

    def is_thrown(self, must_overflow: bool = False) -> bool:
        """Return whether few updates made a layer multiply what goes in far more than before."""
        before, after = float(self.sizes[self.began]), float(self.sizes[-1])
        has_settled = self.ratios[-1] < USUAL_RATIO
        if self.largest_ratio < MIN_UPDATE or has_settled or not 0 < before * MIN_GROWTH <= after:
            return False
        return must_overflow or after * self.gain >= MIN_GAIN

    @property
    def words(self) -> str:
        """`from 0.0461 to 1.02 (root mean square) in 2 updates`"""
        count = len(self.changes) - self.began
        updates = f"{count} update{'s' if count > 1 else ''}"
        return f"from {self.sizes[self.began]:.3g} to {self.sizes[-1]:.3g} ({self.measure}) in {updates}"


def sizes_before(case: Case, handle: int) -> Iterator[WeightSizes]:
    """Yield the sizes of a variable up to the case: what was sampled, and what the program wrote first and then read.

    The samples measure each update; what was read shows only how much larger the largest weight became.
    """
    reads = case.process.cached(WeightReads).of(handle)
    rows = _until(case, reads) if reads is not None else case.process.events[:0]
    is_whole = len(rows) < MAX_READS
    amounts = written_amounts(case, handle) if len(rows) < MAX_LATE_READS else None
    if amounts is not None and len(amounts[1]) > len(rows):  # ops of eager code read it by themselves
        found = (_of_samples(case, handle), _of_amounts(case, handle, *amounts))
    else:
        read = np.append(_first_values(case, handle), rows) if is_whole else rows
        found = (_of_samples(case, handle), _of_reads(case, handle, read))
    yield from (one for one in found if one is not None)


def _until(case: Case, rows: Array) -> Array:
    """Return the last reads up to the call of the case, in the order of calls: a replayed call is recorded late."""
    calls = np.array([_call(case, row) for row in rows[-MAX_READS:]], np.int64)
    order = np.argsort(calls, kind="stable")
    known = (calls[order] >= 0) & (calls[order] <= case.out.call)
    return np.asarray(rows[-MAX_READS:][order][known])


def _call(case: Case, row: Row) -> int:
    call = case.process.call_of(row)
    return call if call is not None else -1


def _first_values(case: Case, handle: int) -> Array:
    """Return the row of what was first written to a variable: compiled code is read only after it wrote."""
    first = next(case.finder.variables.writes_of(handle), None)
    values = first.values if first is not None and first.node is None else []
    rows = [one.row for one in values if one.row is not None and one.has_range]
    return np.array(rows[:1], case.process.events.dtype)


def _is_of_call(case: Case, rows: Array) -> Array:
    """Return which eager rows are of the case's own call: what an op reads by itself is noted after its output."""
    return np.asarray((rows["step"] == case.out.call) & (rows["flags"] & EventFlag.RANGED != 0))


def _of_reads(case: Case, handle: int, rows: Array) -> WeightSizes | None:
    rows = rows[rows["flags"] & (EventFlag.RANGED | EventFlag.BAD) == EventFlag.RANGED]
    new = np.append(True, (rows["min"][1:] != rows["min"][:-1]) | (rows["max"][1:] != rows["max"][:-1]))
    rows = rows[new[: len(rows)]]
    if len(rows) < 2:
        return None
    sizes = np.maximum(np.abs(rows["min"]), np.abs(rows["max"]))
    steps = np.array([_step(case, row) for row in rows[:-1]], np.int64)
    gain = _gain(case.process.shape_of(rows[0]) or ()) / LARGEST_TO_TYPICAL
    return WeightSizes(handle, sizes, np.abs(np.diff(sizes)), steps, gain, "largest")


def _of_amounts(case: Case, handle: int, first: float, updates: list[tuple[int, float]]) -> WeightSizes | None:
    """Return sizes that are at least as large as the largest amount that was added so far."""
    steps, changes = np.array([step for step, _ in updates], np.int64), np.array([size for _, size in updates])
    if not len(updates):
        return None
    sizes = np.maximum.accumulate(np.append(first, changes))
    gain = _gain(_shape(case, handle)) / LARGEST_TO_TYPICAL
    return WeightSizes(handle, sizes, changes, steps, gain, "largest, at least")


def _shape(case: Case, handle: int) -> tuple[int, ...]:
    """Return the shape of what was first written to a variable."""
    rows = _first_values(case, handle)
    return (case.process.shape_of(rows[0]) or ()) if len(rows) else ()


def _step(case: Case, row: Row) -> int:
    step = case.process.step_of(row)
    return step if step is not None else -1


def _gain(shape: tuple[int, ...]) -> float:
    """Return how many times larger than its input the output of a layer is, whose weights are about 1."""
    return math.sqrt(math.prod(shape[:-1])) if len(shape) > 1 else 1.0


def _of_samples(case: Case, handle: int) -> WeightSizes | None:
    """Return the sizes at sampled steps: TensorFlow records no reads of functions that XLA compiles."""
    inside = case.process.cached(LayerStatistics)
    name, step = case.finder.variables.names.get(handle), case.origin.call_graph.step
    update = _only(name, inside.updates)
    if update is None or step is None:
        return None
    rows = update.rows[(update.steps < step) & (update.rows["flags"] & MeasureFlag.COMPARED != 0)]
    rows = rows[np.isfinite(rows["change"]) & np.isfinite(rows["before"]) & (rows["nan"] == 0)]
    if not len(rows) or rows["step"][-1] < step - MAX_UPDATES:
        return None
    root = math.sqrt(max(int(rows["elements"][0]), 1))
    before, changes = rows["before"] / root, rows["change"] / root
    sizes = np.append(before, _size_after(_only(name, inside.variables), int(rows["step"][-1]), root, before[-1]))
    return WeightSizes(handle, sizes, changes, rows["step"], _gain(update.shape(0)), "root mean square")


def _only(name: str | None, series: list[WatchedSeries]) -> WatchedSeries | None:
    """Return the series of a variable, if there is just one of that name."""
    found = [one for one in series if name is not None and one.name == name and len(one)]
    return found[0] if len(found) == 1 else None


def _size_after(variable: WatchedSeries | None, step: int, root: float, otherwise: float) -> float:
    norms = variable.norm[variable.steps == step] / root if variable is not None else np.zeros(0)
    return float(norms[-1]) if len(norms) and np.isfinite(norms[-1]) else float(otherwise)


def thrown_first(sizes: Iterator[WeightSizes], must_overflow: bool) -> WeightSizes | None:
    """Return the weights that were thrown first, of these the farthest."""
    thrown = [one for one in sizes if one.is_thrown(must_overflow)]
    return min(thrown, key=lambda one: (int(one.steps[one.began]), -float(one.ratios[one.began])), default=None)
