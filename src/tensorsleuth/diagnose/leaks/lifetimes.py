"""The number of living eager tensors of each line, step after step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import EagerOp
from tensorsleuth.core.layout.rows import BufferKind, CallKind
from tensorsleuth.trace.dataflow.observed_tensor import uids_of
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 10  # fewer may be a warm-up
FEWEST_KEPT = 8
_FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class LeakedTensors:
    """The growing number of living tensors of one line of the program."""

    op: EagerOp
    alive: int  # at the end of the last step
    bytes: int  # of these
    first_step: int  # the step since which they pile up
    last_step: int  # the last step
    uids: Array  # of those that are alive

    @property
    def steps(self) -> int:
        return self.last_step - self.first_step + 1

    @property
    def bytes_per_step(self) -> float:
        """Return the bytes added in each step."""
        return self.bytes / self.steps


class Lifetimes:
    """Creation and deletion of tensors above a minimum size, and of variable handles."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process
        rows = process.buffers
        self._born = rows[rows["kind"] == BufferKind.EAGER]
        self._freed = rows[rows["kind"] == BufferKind.FREED]

    def leaks(self, ops: set[int]) -> Iterator[LeakedTensors]:
        """Yield the eager ops whose results pile up and do not level off."""
        tensors = self._born["tensor"]
        owners = {op.id: (op.first_tensor, op.first_tensor + op.outputs) for op in self._ops if op.id in ops}
        for number, (first, end) in owners.items():
            found = self._leak(self._process.catalogue.eager[number], (tensors >= first) & (tensors < end))
            if found is not None:
                yield found

    @property
    def _ops(self) -> Iterator[EagerOp]:
        return iter(self._process.catalogue.eager.values())

    def _leak(self, op: EagerOp, mine: Array) -> LeakedTensors | None:
        if int(mine.sum()) < FEWEST_KEPT:
            return None
        born, died, last = self._born_in[mine], self._died_in[mine], self._last_step
        first = int(born.min(initial=last))
        if last - first + 1 < FEWEST_STEPS:
            return None
        steps = quarters(first, last)
        alive = np.searchsorted(np.sort(born), steps, "right") - np.searchsorted(np.sort(died), steps, "right")
        left = died > last
        if int(left.sum()) < FEWEST_KEPT or not keeps_growing(alive):
            return None
        size = int(self._born["bytes"][mine][left].sum())
        return LeakedTensors(op, int(left.sum()), size, first, last, self._uids[mine][left])

    @cached_property
    def _uids(self) -> Array:
        return uids_of(self._born)

    @cached_property
    def _born_in(self) -> Array:
        """Return the step in which each tensor was made; earlier ones count as made in the first step."""
        return np.maximum(self._process.steps_of_calls(self._born["step"].astype(np.int64)), 0)

    @cached_property
    def _died_in(self) -> Array:
        """Return the step in which each tensor was freed; _FOREVER if it still exists."""
        times, steps = self._step_starts
        freed = self._freed
        at = np.searchsorted(times, freed["time"], "right") - 1
        died = dict(zip(uids_of(freed).tolist(), np.where(at >= 0, steps[at], 0).tolist(), strict=True))
        return np.array([died.get(uid, _FOREVER) for uid in self._uids.tolist()], np.int64)

    @cached_property
    def _step_starts(self) -> tuple[Array, Array]:
        """Return the start time of each step."""
        kinds = self._process.calls["kind"]
        calls = self._process.calls[(kinds == CallKind.OP) | (kinds == CallKind.FUNCTION)]
        steps, first = np.unique(np.maximum.accumulate(np.maximum(calls["step"], 0)), return_index=True)
        return calls["time"][first], steps

    @property
    def _last_step(self) -> int:
        steps = self._step_starts[1]
        return int(steps[-1]) if len(steps) else 0


def quarters(first: int, last: int) -> Array:
    """Return the steps at which `keeps_growing` looks. A list of all steps could be longer than the trace."""
    return np.array([first + (last - first) * quarter // 4 for quarter in range(5)], np.int64)


def keeps_growing(counts: Array) -> bool:
    """Return whether a curve rises in each quarter after the first, the last at least half as fast as any."""
    marks = counts[np.linspace(0, len(counts) - 1, 5).astype(int)].astype(np.int64)
    rises = np.diff(marks)
    return bool((rises[1:] > 0).all() and 2 * rises[-1] >= rises.max())
