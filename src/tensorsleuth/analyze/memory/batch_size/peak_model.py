"""A model of the most memory that a program takes, as a function of its batch and its sequence."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.memory.account import MemoryAccount
from tensorsleuth.analyze.memory.batch_size.demand import MemoryDemand
from tensorsleuth.analyze.memory.batch_size.scaling import TensorScaling
from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError

MAX_SLACK_SHARE = 0.3  # of what is asked of heaps: the most that malloc is believed to waste in proportion to it
MAX_SIZE_TRIED = 1 << 24  # larger batches and sequences are not tried
MIN_VISIBLE_GROWTH = 1_000_000  # bytes; below this nothing grows that could be seen


class PeakModel:
    """One process, measured once; what it would have taken with other sizes.

    What was measured is right for the sizes that were run. Tensors are scaled each by the powers of its dimensions, and
    their lives replayed, so that another moment may become the peak. Code, graphs and ops' scratch memory stay; what
    malloc wastes grows with what is asked of it.
    """

    def __init__(self, memory_account: MemoryAccount, column: str = "resident", wanted: int = 0) -> None:
        """`column` of the samples that is meant by memory; `wanted`: bytes that were asked for when it ended."""
        self.account = memory_account
        self.scaling = TensorScaling(memory_account.process_index)
        self._column = column
        self._failed_allocation = wanted

    @cached_property
    def measured_peak(self) -> int:
        """The most that was measured."""
        return int(self.account.samples[self._column].max())

    @property
    def batch(self) -> int:
        return self.scaling.batch or 1

    @cached_property
    def sequence(self) -> int | None:
        return self.scaling.sequence if self._powers[:, 1].any() else None

    @cached_property
    def sizes(self) -> Array:
        """Return the size of each life, as recorded."""
        return np.array([life.bytes for life in self.account.lifetimes.all], np.float64)

    @cached_property
    def _powers(self) -> Array:
        found = [self.scaling.powers(life) for life in self.account.lifetimes.all]
        return np.array(found, np.int64).reshape(-1, 2)

    @cached_property
    def demand(self) -> MemoryDemand:
        return MemoryDemand(self.account.lifetimes.all, self.account.uses_pool)

    @property
    def grows_with_batch(self) -> Array:
        """Return which lives grow with the batch."""
        return np.asarray(self._powers[:, 0] > 0)

    def check(self) -> None:
        """Raises what keeps anything from being said."""
        if self.scaling.batch is None:
            raise SleuthError(
                "Which size is the batch was not found.\n"
                "  Nothing that datasets, arguments or captured tensors bring to a function\n"
                "  that trains has a first dimension of 2 or more.\n"
                "  Record a run with a batch of at least 2."
            )
        if self._peak(2 * self.batch, self.sequence) - self.measured_peak < MIN_VISIBLE_GROWTH:
            raise SleuthError(
                f"Nothing large was seen that grows with the batch of {self.batch:,}.\n"
                "  No tensor of 64 kB and more has it in its shape; what XLA compiles is not seen.\n"
                "  Record a run with a larger batch, and without jit_compile."
            )

    def scaled(self, batch: int, sequence: int | None = None) -> Array:
        """The size of each life with another batch and sequence."""
        longer = sequence / self.sequence if sequence is not None and self.sequence else 1.0
        return np.asarray(
            self.sizes * (batch / self.batch) ** self._powers[:, 0] * longer ** self._powers[:, 1], np.float64
        )

    def peak(self, batch: int | None = None, sequence: int | None = None) -> int:
        """The most that the program would take, in bytes."""
        return self._peak(batch or self.batch, sequence)

    def _peak(self, batch: int, sequence: int | None) -> int:
        return self.peak_with_sizes(self.scaled(batch, sequence)) + self._failed_allocation * batch // self.batch

    def peak_with_sizes(self, sizes: Array) -> int:
        """Return the demand for any sizes of the lives."""
        grown = self.demand.peak(sizes) - self._most
        slack = self._slack * (self.demand.heap_peak(sizes) / self._heap - 1) if self._heap else 0.0
        return max(int(self.measured_peak + grown + slack), 0)

    @cached_property
    def _most(self) -> float:
        return self.demand.peak(self.sizes)

    @cached_property
    def _heap(self) -> float:
        return self.demand.heap_peak(self.sizes)

    @cached_property
    def _slack(self) -> float:
        """Return the waste of malloc: the use outside tensors that is absent between steps."""
        anonymous = self.account.samples["anonymous"].astype(np.int64)
        rest = int(anonymous.max() - anonymous[0]) - self._most - self.account.growth_parts(self.account.peak).own
        return min(max(rest, 0.0), MAX_SLACK_SHARE * self._heap)

    def largest_batch(self, limit: int, sequence: int | None = None) -> int:
        """0 where not even one sample fits."""
        return _largest(lambda batch: self._peak(batch, sequence) <= limit)

    def largest_sequence(self, limit: int, batch: int | None = None) -> int | None:
        """At the same batch; None where there is no sequence."""
        if self.sequence is None:
            return None
        return _largest(lambda sequence: self._peak(batch or self.batch, sequence) <= limit)


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest number that fits, by halves."""
    low, high = 0, 1
    while high < MAX_SIZE_TRIED and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
