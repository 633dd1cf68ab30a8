"""A tensor in the moment in which a condition is judged, on the thread that computed it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.live.breakpoints.python_evaluator import Facts
from tensorsleuth.native import loader
from tensorsleuth.native.numpy_health import Health
from tensorsleuth.trace.storage.values import decode

_MOST_DIMENSIONS = 8  # that are passed along


@dataclass(frozen=True)
class Sight:
    """A view of the tensor in memory."""

    tensor: int  # its id
    dtype: int
    shape: tuple[int, ...]
    kind: EventKind
    run: int  # eager: the call's number; in a graph: TensorFlow's step id
    iteration: int
    uid: int
    health: Health
    bytes: int
    read: Callable[[], Array | None]  # a copy of its value; None where that is not on the host
    change: float = math.nan  # since it was last computed, where that was asked

    @property
    def dtype_name(self) -> str:
        return dtype_of(self.dtype).name

    def facts(self, step: int) -> Facts:
        iteration = float(self.iteration) if self.kind is EventKind.GRAPH else math.nan
        return Facts(self.health, self.shape, self.dtype, self.bytes, step, iteration, self.change)


def native_sight(view: loader.TensorView, where: loader.Where, health: loader.Health, change: float) -> Sight:
    """Return the native library's view; it exists only while the library waits."""
    rank = max(view.rank, 0)
    shape = tuple(view.dims[: min(rank, _MOST_DIMENSIONS)])
    address, size, dtype = view.data, view.bytes, view.dtype

    def read() -> Array | None:
        if rank > _MOST_DIMENSIONS or (not address and view.elements):
            return None
        if not size:
            return np.zeros(shape, np.float32)
        return decode(ctypes.string_at(address, size), dtype, shape)

    found = Health(*(getattr(health, name) for name in Health._fields))
    found = found._replace(elements=view.elements)
    eager = where.kind == EventKind.EAGER
    uid = where.iteration | where.frame << 32 if eager else 0
    identity = where.tensor, dtype, shape, EventKind(where.kind), where.step, where.iteration, uid
    return Sight(*identity, found, size, read, change)


def array_sight(array: Any, dtype: int, where: tuple[int, int, int, int], kind: EventKind, health: Health) -> Sight:
    """Return the view of an array in Python."""
    tensor, run, iteration, frame = where
    uid = iteration | frame << 32 if kind is EventKind.EAGER else 0
    value = np.asarray(array)
    return Sight(
        tensor, dtype, value.shape, kind, run, iteration, uid, health, value.nbytes, lambda: np.array(value, copy=True)
    )
