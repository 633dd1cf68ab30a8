"""The answer of `sleuth memory`, as plain values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tensorsleuth.analyze.memory.account import GrowthParts, Holding, HoldingGroup, MemoryAccount, group_holdings
from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.query.query import process_indexes
from tensorsleuth.trace.reader import Trace

PEAK = "the peak"
_STEP = re.compile(r"step\s*(\d+)")


@dataclass(frozen=True)
class MemoryCurve:
    """Memory over time, in at most so many intervals: seconds since recording began, bytes."""

    seconds: list[float]
    resident: list[int]  # the maximum of each interval
    tensors: list[int]  # at the time of that maximum


@dataclass(frozen=True)
class MemoryReport:
    """One moment of a process in detail, and the others as a curve."""

    run: str
    pid: int
    account: MemoryAccount
    time: int
    moment: str  # the moment: `the peak`, `step 3`, `2.5 s`
    holdings: list[Holding]
    parts: GrowthParts

    @property
    def seconds(self) -> float:
        return (self.time - self.account.start) / 1e9

    @property
    def sample(self) -> Any:
        return self.account.samples[self.account.sample_index(self.time)]

    @property
    def step(self) -> int | None:
        step = int(self.sample["step"])
        return step if step >= 0 else None

    @property
    def start_resident(self) -> int:
        return int(self.account.samples["resident"][0])

    @property
    def peak_own(self) -> int:
        """The peak without mapped files, which a limit does not count. `sleuth why` reports this number."""
        return int(self.account.samples["anonymous"].max())

    @property
    def peak_resident(self) -> int:
        return int(self.account.samples["resident"].max())

    @property
    def limit(self) -> int:
        """The limit of the cgroup, 0 if there is none."""
        return int(self.account.samples["group_limit"][-1])

    @cached_property
    def running(self) -> list[str]:
        """The types of the ops that were running."""
        return list(dict.fromkeys(one.op.type for one in self.account.running_ops(self.time)))

    @property
    def lost(self) -> int:
        return self.account.process.lost_buffers

    def groups(self, by: str) -> list[HoldingGroup]:
        return group_holdings(self.holdings, by)

    def curve(self, pieces: int) -> MemoryCurve:
        samples = self.account.samples
        times, at = samples["time"].astype(np.int64), fullest_samples(samples, pieces)
        tensors = self.account.tensors_at(times[at])
        seconds = ((times[at] - times[0]) / 1e9).tolist()
        return MemoryCurve(seconds, samples["resident"][at].astype(np.int64).tolist(), tensors.tolist())

    def to_json(self, by: str) -> dict[str, Any]:
        """Return the whole answer, with the fields listed in docs/memory.md."""
        curve = self.curve(200)
        return {
            "run": self.run,
            "pid": self.pid,
            "moment": {"asked": self.moment, "seconds": self.seconds, "step": self.step},
            "resident": {"start": self.start_resident, "now": int(self.sample["resident"]), "peak": self.peak_resident},
            "limit": self.limit or None,
            "growth": growth_json(self.parts),
            "running": self.running,
            "by": by,
            "groups": [_group_json(group) for group in self.groups(by)],
            "tensors": [_holding_json(one, self.account.start) for one in self.holdings],
            "curve": {"seconds": curve.seconds, "resident": curve.resident, "tensors": curve.tensors},
            "lost": self.lost,
        }


def fullest_samples(samples: Array, pieces: int) -> list[int]:
    """Return the sample with the most resident memory of each interval."""
    times = samples["time"].astype(np.int64)
    edges = np.linspace(times[0], times[-1], pieces + 1)
    return [_most(samples["resident"], times, *pair) for pair in pairwise(edges)]


def _most(column: Any, times: Any, begins: float, ends: float) -> int:
    """Return the index of the largest value between two times, else of the last value before them."""
    first, last = int(np.searchsorted(times, begins)), int(np.searchsorted(times, ends, "right"))
    return first + int(column[first:last].argmax()) if last > first else max(first - 1, 0)


def growth_json(growth_parts: GrowthParts) -> dict[str, Any]:
    """Return the parts of the growth."""
    named = {
        "bytes": growth_parts.growth,
        "tensors": growth_parts.tensors,
        "kept": growth_parts.kept,
        "own": growth_parts.own,
    }
    return named | {
        "working": growth_parts.working,
        "rest": growth_parts.rest,
        "explained": round(growth_parts.explained, 4),
    }


def _group_json(holding_group: HoldingGroup) -> dict[str, Any]:
    return {
        "name": holding_group.name,
        "bytes": holding_group.bytes,
        "count": holding_group.count,
        "largest": holding_group.largest.name,
    }


def _holding_json(one: Holding, start: int) -> dict[str, Any]:
    label = one.label
    return {
        "name": label.name,
        "bytes": one.bytes,
        "kind": label.kind,
        "op": label.op,
        "dtype": label.dtype,
        "shape": list(label.shape) if label.shape is not None else None,
        "layer": label.layer,
        "file": label.file,
        "line": label.line,
        "born": (one.born - start) / 1e9,
    }


def memory_reports(trace: Trace, at: str | None = None) -> list[MemoryReport]:
    """Return a report for each process with memory samples, the largest peak first."""
    found = [_answer(trace, account, at) for account in accounts_of(trace)]
    return sorted(found, key=lambda one: -one.peak_resident)


def accounts_of(trace: Trace) -> list[MemoryAccount]:
    """Return the account of each process whose memory was sampled; raise if none was."""
    accounts = [MemoryAccount(asked) for asked in process_indexes(trace) if len(asked.process.memory)]
    if not accounts:
        raise SleuthError(
            f"{trace.path.name} has no samples of its memory: it was recorded without the native library, or by a "
            "version that took none. Record it again: sleuth run program.py"
        )
    return accounts


def _answer(trace: Trace, memory_account: MemoryAccount, at: str | None) -> MemoryReport:
    return report_at(trace, memory_account, *_moment(memory_account, at))


def report_at(trace: Trace, memory_account: MemoryAccount, time: int, asked: str) -> MemoryReport:
    """Return the report on one moment of an account."""
    pid = memory_account.process.catalogue.meta.get("pid")
    holdings, parts = memory_account.holdings(time), memory_account.growth_parts(time)
    return MemoryReport(
        trace.path.name, pid if isinstance(pid, int) else 0, memory_account, time, asked, holdings, parts
    )


def _moment(memory_account: MemoryAccount, at: str | None) -> tuple[int, str]:
    if at is None:
        return memory_account.peak, PEAK
    step = _STEP.fullmatch(at.strip())
    if step is not None:
        return _peak_of_step(memory_account, int(step.group(1))), f"the peak of step {step.group(1)}"
    try:
        seconds = float(at.strip().removesuffix("s"))
    except ValueError:
        raise SleuthError(f"--at {at}: expected seconds since recording began (2.5), or a step (step3).") from None
    last = (int(memory_account.samples["time"][-1]) - memory_account.start) / 1e9
    if not 0 <= seconds <= last:
        raise SleuthError(f"--at {at}: the recording goes from 0 to {last:.2f} seconds.")
    return memory_account.start + int(seconds * 1e9), f"{seconds:g} s"


def _peak_of_step(memory_account: MemoryAccount, step: int) -> int:
    samples = memory_account.samples[memory_account.samples["step"] == step]
    if not len(samples):
        steps = memory_account.samples["step"]
        raise SleuthError(
            f"No sample was taken in step {step}; the samples are from steps {max(int(steps.min()), 0)} "
            f"to {int(steps.max())}, about one every 50 ms. Give a time in seconds: --at 2.5"
        )
    return int(samples["time"][int(samples["anonymous"].argmax())])
