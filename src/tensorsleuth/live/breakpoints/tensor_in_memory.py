"""A tensor at the moment when a condition judges it, on the thread that computed it."""

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
from tensorsleuth.live.breakpoints.python_evaluator import TensorFacts
from tensorsleuth.native import loader
from tensorsleuth.native.numpy_health import TensorHealth
from tensorsleuth.trace.storage.values import decode

# The number of dimensions that the native library passes on.
_MAX_DIMENSIONS = 8


@dataclass(frozen=True)
class TensorInMemory:
    """A tensor in memory, with the ids of its place."""

    tensor: int  # its id
    dtype: int
    shape: tuple[int, ...]
    kind: EventKind
    run: int  # for an eager op: the number of the call; in a graph: TensorFlow's step id
    iteration: int
    uid: int
    health: TensorHealth
    bytes: int
    read: Callable[[], Array | None]  # copies the value; returns None if it is not on the host
    change: float = math.nan  # since the last computation, if a condition needs it

    @property
    def dtype_name(self) -> str:
        return dtype_of(self.dtype).name

    def facts(self, step: int) -> TensorFacts:
        iteration = float(self.iteration) if self.kind is EventKind.GRAPH else math.nan
        return TensorFacts(self.health, self.shape, self.dtype, self.bytes, step, iteration, self.change)


def native_tensor(
    view: loader.TensorView, row_place: loader.RowPlace, native_health: loader.NativeHealth, change: float
) -> TensorInMemory:
    """Return a view of a tensor of the native library, valid only while the library waits."""
    rank = max(view.rank, 0)
    shape = tuple(view.dims[: min(rank, _MAX_DIMENSIONS)])
    address, size, dtype = view.data, view.bytes, view.dtype

    def read() -> Array | None:
        if rank > _MAX_DIMENSIONS or (not address and view.elements):
            return None
        if not size:
            return np.zeros(shape, np.float32)
        return decode(ctypes.string_at(address, size), dtype, shape)

    found = TensorHealth(*(getattr(native_health, name) for name in TensorHealth._fields))
    found = found._replace(elements=view.elements)
    eager = row_place.kind == EventKind.EAGER
    uid = row_place.iteration | row_place.frame << 32 if eager else 0
    identity = row_place.tensor, dtype, shape, EventKind(row_place.kind), row_place.step, row_place.iteration, uid
    return TensorInMemory(*identity, found, size, read, change)


def array_tensor(
    array: Any, dtype: int, where: tuple[int, int, int, int], kind: EventKind, tensor_health: TensorHealth
) -> TensorInMemory:
    """Return the view of an array in Python."""
    tensor, run, iteration, frame = where
    uid = iteration | frame << 32 if kind is EventKind.EAGER else 0
    value = np.asarray(array)
    return TensorInMemory(
        tensor,
        dtype,
        value.shape,
        kind,
        run,
        iteration,
        uid,
        tensor_health,
        value.nbytes,
        lambda: np.array(value, copy=True),
    )
