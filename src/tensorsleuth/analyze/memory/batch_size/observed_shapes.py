"""The recorded shapes of each tensor."""

from __future__ import annotations

from functools import cached_property
from math import prod

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import BufferKind, EventKind
from tensorsleuth.trace.process.process import ProcessTrace

Shape = tuple[int, ...]


class ObservedShapes:
    """The recorded shapes by tensor id, of one process."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process

    @cached_property
    def _by_tensor(self) -> dict[int, list[Shape]]:
        """The largest first: the last batch of an epoch may be smaller."""
        events, buffers = self._process.events, self._process.buffers
        pairs = np.concatenate(
            [
                _pairs(events[events["kind"] == EventKind.GRAPH]),
                _pairs(buffers[buffers["kind"] == BufferKind.GRAPH]),
                _pairs(events[events["kind"] == EventKind.EAGER]),
            ]
        )
        found: dict[int, list[Shape]] = {}
        for pair in np.unique(pairs).tolist():
            number = pair & 0xFFFF_FFFF
            if 0 < number < len(self._process.shapes):
                found.setdefault(pair >> 32, []).append(self._process.shapes[number])
        return {tensor: sorted(shapes, key=prod, reverse=True) for tensor, shapes in found.items()}

    def largest(self, tensor: int) -> Shape | None:
        """Return the largest shape of a tensor."""
        return next(iter(self._by_tensor.get(tensor, ())), None)

    def varying_dims(self, tensor: int) -> frozenset[int]:
        """Return the dimensions of a tensor that had more than one size."""
        shapes = self._by_tensor.get(tensor, [])
        same = [shape for shape in shapes if len(shape) == len(shapes[0])]
        return frozenset(at for at, sizes in enumerate(zip(*same, strict=True)) if len(set(sizes)) > 1)


def _pairs(rows: Array) -> Array:
    return (rows["tensor"].astype(np.int64) << 32) | rows["shape"].astype(np.int64)
