"""Advice to save memory, with the saving of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.memory.batch_size.peak_model import PeakModel
from tensorsleuth.analyze.memory.labels import (
    ACTIVATIONS,
    GRADIENTS,
    INPUTS,
    OPTIMIZER,
    TEMPORARIES,
    WEIGHTS,
    MemoryLabel,
)
from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of

OUTSIZED_FACTOR = 10  # times its neighbours
MAX_OUTSIZED_CANDIDATES = 20  # of the largest tensors at the peak
MIN_SAVED_SHARE = 0.02  # of the peak: smaller savings are not reported
MIN_OPTIMIZER_SHARE = 0.3  # of the tensors at the peak: with a smaller share, another optimizer is not worth it
MAX_PARTS = 1 << 16  # small batches whose gradients are added up; more are not realistic
_HALVABLE_DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Advice:
    """One piece of advice, with the peak after it."""

    name: str  # batch, accumulation, precision, recomputation, optimizer, tensor
    text: str
    saves: int  # bytes
    peak: int
    file: str | None = None
    line: int | None = None


class Advisor:
    """Tries each piece of advice on the model, at one batch and sequence."""

    def __init__(self, peak_model: PeakModel, batch: int, sequence: int | None, limit: int) -> None:
        self.fit = peak_model
        self.batch = batch
        self.sequence = sequence
        self.limit = limit
        self.peak = peak_model.peak(batch, sequence)

    def all(self) -> list[Advice]:
        """Return the advice with a relevant saving, the largest first."""
        found = [
            *self._smaller(),
            *self._accumulate(),
            *self._half_precision(),
            *self._recompute(),
            *self._optimizer(),
            *self._outsized(),
        ]
        return sorted((one for one in found if one.saves >= MIN_SAVED_SHARE * self.peak), key=lambda one: -one.saves)

    def _advice(self, name: str, text: str, peak: int, memory_label: MemoryLabel | None = None) -> Advice:
        file, line = (memory_label.file, memory_label.line) if memory_label is not None else (None, None)
        return Advice(name, text, self.peak - peak, peak, file, line)

    @cached_property
    def fitting(self) -> int:
        """The batch to reduce to: the largest that fits, or half of the requested batch if the latter fits."""
        most = self.fit.largest_batch(self.limit, self.sequence)
        return most if most < self.batch else self.batch // 2

    def _smaller(self) -> Iterator[Advice]:
        if self.fitting:
            yield self._advice("batch", f"batch {self.fitting:,}", self.fit.peak(self.fitting, self.sequence))

    def _accumulate(self) -> Iterator[Advice]:
        """Yield gradient accumulation: the same mathematics with small batches, but one more gradient to keep."""
        counts = range(2, min(self.batch, MAX_PARTS) + 1)
        parts = next((k for k in counts if self.batch % k == 0 and self._part_fits(k)), None)
        if parts is not None:
            peak = self._accumulated(parts)
            text = f"gradient accumulation, {parts} × {self.batch // parts}: the same gradients"
            yield self._advice("accumulation", text, peak)

    def _accumulated(self, parts: int) -> int:
        return self.fit.peak(self.batch // parts, self.sequence) + self.of_kind(WEIGHTS)[0]

    def _part_fits(self, parts: int) -> bool:
        return self._accumulated(parts) <= self.limit

    def _half_precision(self) -> Iterator[Advice]:
        """Yield mixed precision, which halves only what grows with the batch, not weights and their gradients."""
        kinds = (ACTIVATIONS, GRADIENTS, TEMPORARIES)
        halved = self.fit.grows_with_batch & np.isin(self._kinds, kinds) & np.isin(self._dtypes, _HALVABLE_DTYPES)
        text = "mixed precision: activations as bfloat16"
        yield self._advice("precision", text, self.fit.peak_with_sizes(np.where(halved, self._sizes / 2, self._sizes)))

    def _recompute(self) -> Iterator[Advice]:
        """Yield the saving of recomputation in the backward pass: each layer keeps its last activation."""
        inner: dict[str, list[int]] = {}
        for life in np.flatnonzero(self._alive & (self._kinds == ACTIVATIONS)).tolist():
            label = self._label(life)
            inner.setdefault(label.layer or label.place or "", []).append(life)
        dropped = [life for lives in inner.values() for life in sorted(lives, key=self._born)[:-1]]
        if dropped:
            sizes = np.where(np.isin(self._tensors, self._tensors[dropped]), 0, self._sizes)  # in every step
            again = max(self._sizes[lives].sum() for lives in inner.values())
            text = f"recomputation (tf.recompute_grad) in {len(inner)} parts"
            yield self._advice("recomputation", text, self.fit.peak_with_sizes(sizes) + int(again))

    def _optimizer(self) -> Iterator[Advice]:
        state = self.of_kind(OPTIMIZER)[0]
        if state >= MIN_OPTIMIZER_SHARE * self._sizes[self._alive].sum():
            yield self._advice("optimizer", "an optimizer without state (plain SGD)", self.peak - state)

    def _outsized(self) -> Iterator[Advice]:
        """Yield a tensor far larger than its inputs and its consumers."""
        order = np.argsort(np.where(self._alive, -self._sizes, 0))[:MAX_OUTSIZED_CANDIDATES].tolist()
        for life in order:
            if self._alive[life] and self._kinds[life] not in (WEIGHTS, OPTIMIZER, INPUTS) and self._is_outsized(life):
                label = self._label(life)
                what = f"{label.op} {label.dtype} {'×'.join(map(str, label.shape or ()))}"
                sizes = np.where(self._tensors == self._tensors[life], 0, self._sizes)
                yield self._advice(
                    "tensor", f"without one outsized tensor: {what}", self.fit.peak_with_sizes(sizes), label
                )
                return

    def _is_outsized(self, life: int) -> bool:
        lives, asked = self.fit.account.lifetimes, self.fit.account.process_index
        tensor = int(self._tensors[life])
        made = [op.first_tensor for op in asked.consumers.node_consumers(tensor)]
        around = [int(self._bytes.get(one, 0)) for one in (*lives.last_uses.sources(tensor), *made)]
        return bool(made) and float(self.fit.sizes[life]) >= OUTSIZED_FACTOR * max(around, default=0)

    # ---- lifetimes

    def of_kind(self, kind: str) -> tuple[int, int]:
        """Return the bytes of one kind at the peak, and how many of them grow with the batch."""
        these = self._alive & (self._kinds == kind)
        return int(self._sizes[these].sum()), int(self._sizes[these & self.fit.grows_with_batch].sum())

    @cached_property
    def _sizes(self) -> Array:
        return self.fit.scaled(self.batch, self.sequence)

    @cached_property
    def _alive(self) -> Array:
        time = self.fit.demand.peak_time(self._sizes)
        return np.array([life.born <= time < life.died for life in self.fit.account.lifetimes.all], bool)

    @cached_property
    def _kinds(self) -> Array:
        return np.array([self.fit.account.labels.kind(life) for life in self.fit.account.lifetimes.all], object)

    @cached_property
    def _rows(self) -> Array:
        return self.fit.account.process.buffers[[life.row for life in self.fit.account.lifetimes.all]]

    @property
    def _dtypes(self) -> Array:
        names = np.array([dtype_of(number).name for number in range(256)], object)
        return np.asarray(names[self._rows["dtype"]])

    @cached_property
    def _tensors(self) -> Array:
        return np.asarray(self._rows["tensor"].astype(np.int64))

    @cached_property
    def _bytes(self) -> dict[int, int]:
        """The recorded size of each tensor."""
        return dict(zip(self._tensors.tolist(), self.fit.sizes.astype(np.int64).tolist(), strict=True))

    def _label(self, life: int) -> MemoryLabel:
        return self.fit.account.labels.label_of(self.fit.account.lifetimes.all[life])

    def _born(self, life: int) -> int:
        return self.fit.account.lifetimes.all[life].born
