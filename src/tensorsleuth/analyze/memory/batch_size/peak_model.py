"""A model of a program's peak memory as a function of its batch and its sequence."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.memory.account import MemoryAccount
from tensorsleuth.analyze.memory.batch_size.demand import MemoryDemand
from tensorsleuth.analyze.memory.batch_size.scaling import TensorScaling
from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError

MAX_SLACK_SHARE = 0.3  # of the heaps' demand: the most that malloc is assumed to waste in proportion to it
MAX_SIZE_TRIED = 1 << 24  # larger batches and sequences are not tried
MIN_VISIBLE_GROWTH = 1_000_000  # in bytes; smaller growth cannot be measured


class PeakModel:
    """A model of one process: measured once, it predicts the peak for other sizes.

    What was measured is right for the sizes that were run. Tensors are scaled each by the powers of its dimensions, and
    their lives replayed, so that another moment may become the peak. Code and graphs stay; what malloc wastes grows
    with what is asked of it. What else was in use in a step, and in no tensor, is scratch memory of ops. A smaller
    batch makes it smaller. For a larger one it stays: a part may be the threads' own, and would be multiplied.
    """

    def __init__(self, memory_account: MemoryAccount, column: str = "resident", wanted: int = 0) -> None:
        """`column` is the column of the samples that counts as memory, `wanted` the bytes requested at the end."""
        self.account = memory_account
        self.scaling = TensorScaling(memory_account.process_index)
        self._column = column
        self._failed_allocation = wanted

    @cached_property
    def measured_peak(self) -> int:
        """The measured peak."""
        return int(self.account.samples[self._column].max())

    @property
    def batch(self) -> int:
        return self.scaling.batch or 1

    @cached_property
    def sequence(self) -> int | None:
        return self.scaling.sequence if self._powers[:, 1].any() else None

    @cached_property
    def sizes(self) -> Array:
        """The recorded size of each lifetime."""
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
        """Return which lifetimes grow with the batch."""
        return np.asarray(self._powers[:, 0] > 0)

    def check(self) -> None:
        """Raise an error if no prediction is possible."""
        if self.scaling.batch is None:
            raise SleuthError(
                "The batch size was not found.\n"
                "  No tensor that a dataset, an argument or a capture brings to a function\n"
                "  that trains has a first dimension of 2 or more.\n"
                "  Record a run with a batch of at least 2."
            )
        if self._peak(2 * self.batch, self.sequence) - self.measured_peak < MIN_VISIBLE_GROWTH:
            raise SleuthError(
                f"No large tensor grows with the batch of {self.batch:,}.\n"
                "  No tensor of 64 kB and more has it in its shape; tensors inside XLA are not recorded.\n"
                "  Record a run with a larger batch, and without jit_compile."
            )

    def scaled(self, batch: int, sequence: int | None = None) -> Array:
        """Return the size of each lifetime with another batch and sequence."""
        longer = sequence / self.sequence if sequence is not None and self.sequence else 1.0
        return np.asarray(
            self.sizes * (batch / self.batch) ** self._powers[:, 0] * longer ** self._powers[:, 1], np.float64
        )

    def peak(self, batch: int | None = None, sequence: int | None = None) -> int:
        """Return the predicted peak in bytes."""
        return self._peak(batch or self.batch, sequence)

    def _peak(self, batch: int, sequence: int | None) -> int:
        pending = self._failed_allocation * batch // self.batch
        return max(self.peak_with_sizes(self.scaled(batch, sequence)) + pending - self._saved_scratch(batch), 0)

    def _saved_scratch(self, batch: int) -> int:
        return int(self._scratch * (1 - batch / self.batch)) if batch < self.batch else 0

    def peak_with_sizes(self, sizes: Array) -> int:
        """Return the predicted peak for any sizes of the lifetimes."""
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
        """Return the waste of malloc: a part of the use outside tensors that is absent between steps."""
        return min(self._outside_tensors, MAX_SLACK_SHARE * self._heap)

    @property
    def _scratch(self) -> float:
        """Return the rest of that use."""
        return self._outside_tensors - self._slack

    @cached_property
    def _outside_tensors(self) -> float:
        """Return the use outside tensors that is absent between steps."""
        anonymous = self.account.samples["anonymous"].astype(np.int64)
        rest = int(anonymous.max() - anonymous[0]) - self._most - self.account.growth_parts(self.account.peak).own
        return max(rest, 0.0)

    def largest_batch(self, limit: int, sequence: int | None = None) -> int:
        """Return the largest batch that fits, or 0 if not even one sample fits."""
        return _largest(lambda batch: self._peak(batch, sequence) <= limit)

    def largest_sequence(self, limit: int, batch: int | None = None) -> int | None:
        """Return the longest sequence that fits at the same batch, or None if there is no sequence."""
        if self.sequence is None:
            return None
        return _largest(lambda sequence: self._peak(batch or self.batch, sequence) <= limit)


def _largest(fits: Callable[[int], bool]) -> int:
    """Return the largest number that fits, by bisection."""
    low, high = 0, 1
    while high < MAX_SIZE_TRIED and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
