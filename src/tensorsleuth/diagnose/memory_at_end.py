"""How much memory a program had when it ended, and which tensors were largest then."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.model.dtypes import dtype_of
from tensorsleuth.model.last_moments import Held, MemoryAtEnd
from tensorsleuth.trace.process import ProcessTrace

LATEST = 50_000  # events at the end among which the largest are looked for
MOST, LEAST = 5, 1 << 16  # tensors, bytes


def memory_at_end(process: ProcessTrace, now: int, kernel: dict[str, Any]) -> MemoryAtEnd:
    """`kernel` is what `sleuth run` asked about memory; `now` the moment of the end."""
    peak, limit, machine = (_bytes(kernel.get(name)) for name in ("peak", "limit", "machine"))
    return MemoryAtEnd(None, peak, limit, machine, (), _largest(process, now))


def _bytes(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _largest(process: ProcessTrace, now: int) -> tuple[Held, ...]:
    """Of what was computed last."""
    rows = process.events[-LATEST:]
    shapes = process.shapes
    elements = np.array([int(np.prod(shape, dtype=np.float64)) for shape in shapes])
    numbers = np.where(rows["shape"] < len(shapes), rows["shape"], 0)
    items = np.array([dtype_of(number).itemsize for number in range(256)])
    sizes = np.where(numbers > 0, elements[numbers], 0) * items[rows["dtype"]]
    held: dict[int, Held] = {}
    for at in np.argsort(-sizes, kind="stable")[: MOST * 100].tolist():
        tensor = int(rows["tensor"][at])
        if sizes[at] >= LEAST and tensor not in held and len(held) < MOST:
            held[tensor] = _held(process, rows[at], int(sizes[at]), now)
    return tuple(held.values())


def _held(process: ProcessTrace, row: Any, size: int, now: int) -> Held:
    tensor = process.tensor(int(row["tensor"]))
    frame = tensor.site.frame if tensor is not None and tensor.site is not None else None
    line = f"{frame.file}:{frame.line}" if frame is not None else None
    age = (now - int(row["time"])) / 1e9 if now else None
    name = tensor.name if tensor is not None else "?"
    dtype = dtype_of(int(row["dtype"])).name
    return Held(name, dtype, process.shape_of(row), size, line, age, process.step_of(row))
