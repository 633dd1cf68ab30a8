"""The memory of a program at its end, and the tensors in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.memory.account import Holding, MemoryAccount
from tensorsleuth.core.array import Array
from tensorsleuth.core.run_end import LiveTensor, MemoryAtEnd
from tensorsleuth.diagnose.exits.thread_activity import function_name

CURVE_POINTS = 120  # of the curve
MAX_LISTED_TENSORS = 5  # tensors


def memory_at_end(memory_account: MemoryAccount, now: int, kernel: dict[str, Any], well: bool) -> MemoryAtEnd:
    """Return the memory at the end, with the counters of `sleuth run` in `kernel`; no tensors if it ended `well`."""
    peak, limit, machine = (_bytes(kernel.get(name)) for name in ("peak", "limit", "machine"))
    samples = memory_account.samples
    if len(samples):
        peak = int(samples["anonymous"].max())
        limit = limit or _bytes(int(samples["group_limit"][-1]))
    used = int(samples["anonymous"][-1]) if len(samples) else None
    end = now or (int(samples["time"][-1]) if len(samples) else 0)
    held = [] if well else _grouped(memory_account, end)
    largest = tuple(sorted(held, key=lambda one: -one.bytes)[:MAX_LISTED_TENSORS])
    oldest = tuple(sorted(held, key=lambda one: -(one.seconds or 0))[:MAX_LISTED_TENSORS])
    return MemoryAtEnd(used, peak, limit, machine, _curve(samples, end), largest, oldest)


def _grouped(memory_account: MemoryAccount, end: int) -> list[LiveTensor]:
    """Return the tensors with those that one op made repeatedly as one."""
    groups: dict[tuple[int, tuple[int, ...] | None], list[Holding]] = {}
    for one in memory_account.holdings(end or _newest_time(memory_account)):
        groups.setdefault((one.label.tensor, one.label.shape), []).append(one)
    return [_tensor_group(memory_account, group, end) for group in groups.values()]


def _newest_time(memory_account: MemoryAccount) -> int:
    """Return the time of the newest row, for a process whose end time is unknown."""
    return int(memory_account.process.buffers["time"].max(initial=0))


def _bytes(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _curve(samples: Array, end: int) -> tuple[tuple[float, int], ...]:
    """Return the memory over the whole time, evenly sampled, with the maximum of each part."""
    if len(samples) < 2:
        return ()
    times, used = samples["time"].astype(np.int64), samples["anonymous"].astype(np.int64)
    edges = np.linspace(times[0], times[-1] + 1, CURVE_POINTS + 1)
    first = np.searchsorted(times, edges[:-1]).tolist()
    parts = [(start, stop) for start, stop in zip(first, [*first[1:], len(times)], strict=True) if stop > start]
    return tuple(((end - int(times[stop - 1])) / 1e9, int(used[start:stop].max())) for start, stop in parts)


def _tensor_group(memory_account: MemoryAccount, group: list[Holding], end: int) -> LiveTensor:
    first = min(group, key=lambda one: one.born)
    label = first.label
    age = max(0.0, (end - first.born) / 1e9) if end else None
    size = sum(one.bytes for one in group)
    name = function_name(label.name)
    return LiveTensor(name, label.dtype, label.shape, size, label.place, age, _step(memory_account, first), len(group))


def _step(memory_account: MemoryAccount, one: Holding) -> int | None:
    """Return the training step in which a tensor was made."""
    calls = memory_account.process.calls
    steps = calls["step"][calls["time"] <= one.born]
    return int(steps[-1]) if len(steps) and steps[-1] >= 0 else None
