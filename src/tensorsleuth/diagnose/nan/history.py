"""The size of a tensor over steps or iterations, for slow growth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind, EventFlag, EventKind
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import ProcessTrace

MIN_GROWTH_OF_FEW, MIN_GROWTH_OF_MANY = (
    1e6,
    1e3,
)  # how much larger at the end: with one or two points before it, or with more
MAX_DIPS = 0.2  # of the points may be smaller than the one before


@dataclass(frozen=True)
class ValueGrowth:
    """A tensor that grew until it overflowed."""

    start: int  # the step, or the iteration
    end: int
    first_size: float
    last_size: float
    unit: str = "step"  # or call: of a program that counts no steps

    @property
    def rate(self) -> float:
        """Return the factor of each step or iteration."""
        return float((self.last_size / self.first_size) ** (1 / max(self.end - self.start, 1)))

    def __str__(self) -> str:
        return f"from {self.first_size:.3g} to {self.last_size:.3g}, about {self.rate:.3g}× each"


def over_iterations(one: ObservedTensor) -> ValueGrowth | None:
    """Return the growth within one run of its loop, if it grew."""
    if one.row is None or one.tensor.eager is not None:
        return None
    events = one.process.events
    same = (events["tensor"] == one.row["tensor"]) & (events["step"] == one.row["step"])
    rows = events[same & (events["frame"] == one.row["frame"]) & (events["iteration"] <= one.row["iteration"])]
    return growth_of(rows["iteration"].astype(np.int64), rows)


def over_steps(one: ObservedTensor, among: Array | None = None) -> ValueGrowth | None:
    """Return the growth from call to call, up to the bad one; `among` are rows that contain its own."""
    if one.row is None:
        return None
    events = one.process.events if among is None else among
    rows = events[(events["tensor"] == one.row["tensor"]) & (events["time"] <= one.row["time"])]
    if one.tensor.eager is not None and one.tensor.eager.type in VARIABLE_READS:  # a line may read several variables
        rows = rows[handles_of(one.process, rows) == handles_of(one.process, one.row.reshape(1))]
    steps = [one.process.step_of(row) for row in rows]
    if len(set(steps)) == 1:  # updates by hand: neither a tape nor an optimizer says where a step ends
        return growth_of(np.arange(len(rows)), rows, "call")
    numbers = np.array([step if step is not None else at for at, step in enumerate(steps)], np.int64)
    return growth_of(numbers, rows)


def handles_of(process: ProcessTrace, rows: Array) -> Array:
    """Return the variable handle of each eager row, the first input of its call; 0 if it is not known."""
    calls = process.calls[process.calls["kind"] == CallKind.OP]
    calls = calls[np.argsort(calls["call"], kind="stable")]
    if not len(calls):
        return np.zeros(len(rows), np.uint64)
    places = np.minimum(np.searchsorted(calls["call"], rows["step"]), len(calls) - 1)
    known = (calls["call"][places] == rows["step"]) & (rows["kind"] == EventKind.EAGER)
    return np.where(known, calls["inputs"][places, 0], np.uint64(0))


def growth_of(numbers: Array, rows: Array, unit: str = "step") -> ValueGrowth | None:
    """Return the growth of the largest values from the smallest on, if they rise nearly all the way."""
    ranged = (rows["flags"] & EventFlag.RANGED) != 0
    size = np.maximum(np.abs(rows["min"]), np.abs(rows["max"]))
    usable = ranged & np.isfinite(size) & (size > 0)
    numbers, size = numbers[usable], size[usable]
    if len(size) < 2:
        return None
    unique, places = np.unique(numbers, return_inverse=True)
    largest = np.zeros(len(unique))
    np.maximum.at(largest, places, size)
    began = _growth_start(largest)
    first, last = float(largest[began]), float(largest[-1])
    enough = MIN_GROWTH_OF_MANY if len(largest) - began > 3 else MIN_GROWTH_OF_FEW
    if not math.isfinite(last) or last / first < enough:
        return None
    return ValueGrowth(int(unique[began]), int(unique[-1]), first, last, unit)


def _growth_start(sizes: Array) -> int:
    """Return the index from which on the values rise to the end, except for a few dips."""
    began, dips = len(sizes) - 1, 0
    for at in range(len(sizes) - 1, 0, -1):
        dips += bool(sizes[at - 1] >= sizes[at])
        if dips > MAX_DIPS * (len(sizes) - at) + 1:
            break
        if sizes[at - 1] < sizes[began]:
            began = at - 1
    return began
