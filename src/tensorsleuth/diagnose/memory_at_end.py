"""How much memory a program had when it ended, and which tensors were in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.diagnose.doing import function_name
from tensorsleuth.model.dtypes import dtype_of
from tensorsleuth.model.last_moments import Held, MemoryAtEnd
from tensorsleuth.model.rows import BufferKind
from tensorsleuth.trace.observed import uids_of
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.ring_reader import Array

POINTS = 120  # of the curve
MOST = 5  # tensors
MOST_ROWS = 100_000  # of those held that are looked at, the newest


def memory_at_end(process: ProcessTrace, now: int, kernel: dict[str, Any], under_way: set[int]) -> MemoryAtEnd:
    """`kernel` is what `sleuth run` asked about memory; `under_way` the calls of functions that never came back."""
    peak, limit, machine = (_bytes(kernel.get(name)) for name in ("peak", "limit", "machine"))
    samples = process.memory
    if len(samples):
        peak = int(samples["anonymous"].max())
        limit = limit or _bytes(int(samples["group_limit"][-1]))
    used = int(samples["anonymous"][-1]) if len(samples) else None
    end = now or (int(samples["time"][-1]) if len(samples) else 0)
    held = _grouped(process, _alive(process, under_way), end)
    largest = tuple(sorted(held, key=lambda one: -one.bytes)[:MOST])
    oldest = tuple(sorted(held, key=lambda one: -(one.seconds or 0))[:MOST])
    return MemoryAtEnd(used, peak, limit, machine, _curve(samples, end), largest, oldest)


def _grouped(process: ProcessTrace, rows: Array, end: int) -> list[Held]:
    """What one op made again and again, as one."""
    groups: dict[tuple[int, int], list[Any]] = {}
    for row in rows[np.argsort(rows["time"], kind="stable")][-MOST_ROWS:]:
        groups.setdefault((int(row["tensor"]), int(row["shape"])), []).append(row)
    return [_held(process, group, end) for group in groups.values()]


def _bytes(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _curve(samples: Array, end: int) -> tuple[tuple[float, int], ...]:
    """Of the time as a whole, evenly; of each part the most that there was."""
    if len(samples) < 2:
        return ()
    times, used = samples["time"].astype(np.int64), samples["anonymous"].astype(np.int64)
    edges = np.linspace(times[0], times[-1] + 1, POINTS + 1)
    first = np.searchsorted(times, edges[:-1]).tolist()
    parts = [(start, stop) for start, stop in zip(first, [*first[1:], len(times)], strict=True) if stop > start]
    return tuple(((end - int(times[stop - 1])) / 1e9, int(used[start:stop].max())) for start, stop in parts)


def _alive(process: ProcessTrace, under_way: set[int]) -> Array:
    """The buffers that Python still held, and those of functions that had not come back; each once."""
    rows = process.buffers
    rows = rows[rows["bytes"] > 0]
    eager = rows[rows["kind"] == BufferKind.EAGER]
    freed = uids_of(process.buffers[process.buffers["kind"] == BufferKind.FREED])
    kept = ~np.isin(uids_of(eager), freed)
    steps = [step for step, call in process.call_of_step.items() if call in under_way]
    inside = rows[(rows["kind"] == BufferKind.GRAPH) & np.isin(rows["step"], steps)]
    both = np.concatenate([eager[kept], inside])
    both = both[np.argsort(both["time"], kind="stable")]
    _, newest = np.unique(both["address"][::-1], return_index=True)
    return both[len(both) - 1 - newest]


def _held(process: ProcessTrace, rows: list[Any], end: int) -> Held:
    first = rows[0]
    tensor = process.tensor(int(first["tensor"]))
    frame = tensor.site.frame if tensor is not None and tensor.site is not None else None
    line = f"{frame.file}:{frame.line}" if frame is not None else None
    age = max(0.0, (end - int(first["time"])) / 1e9) if end else None
    name = function_name(tensor.name) if tensor is not None else "?"
    dtype, size = dtype_of(int(first["dtype"])).name, sum(int(row["bytes"]) for row in rows)
    return Held(name, dtype, process.shape_of(first), size, line, age, _step(process, first), len(rows))


def _step(process: ProcessTrace, row: Any) -> int | None:
    eager = row["kind"] == BufferKind.EAGER
    call = int(row["step"]) if eager else process.call_of_step.get(int(row["step"]))
    step = int(process.steps_of_calls(np.array([call]))[0]) if call is not None else -1
    return step if step >= 0 else None
