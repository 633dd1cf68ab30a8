"""The memory over time with its tensors, and one moment in detail."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.memory.account import GROUP_KEYS, MemoryAccount
from tensorsleuth.analyze.memory.buffer_rows import rows_around
from tensorsleuth.analyze.memory.labels import KINDS
from tensorsleuth.analyze.memory.report import PEAK, fullest_samples, report_at
from tensorsleuth.core.array import Array
from tensorsleuth.ui.web.answers.memory.memory_moment import moment_json
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.errors import BadRequest
from tensorsleuth.ui.web.run.lanes import process_name
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters
from tensorsleuth.ui.web.run.step_times import step_times

DEFAULT_POINTS, MAX_POINTS = 800, 2000
MAX_BUFFER_ROWS = 40_000  # examined at most
MAX_MARKS = 100
NO_MEMORY: Answer = {"process": None, "part": None, "limit": None, "start": 0, "peak": 0, "at": 0, "lost": 0} | {
    name: [] for name in ("processes", "seconds", "steps", "resident", "kinds", "marks")
}


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a Memory (web/src/api/types.ts)."""
    points = parameters.integer(asked, "points", DEFAULT_POINTS, 3, MAX_POINTS)
    sampled = _sampled(opened)
    if not sampled:
        return NO_MEMORY
    number = _process(sampled, asked)
    account = _account(opened, number, _time(opened, number, asked, "near"))
    samples = account.samples
    at = _points(samples, points)
    return {
        "process": number,
        "processes": [_named(opened, one) for one in sampled],
        "part": _part(opened, number, account),
        "limit": int(samples["group_limit"][-1]) or None,
        "start": int(samples["resident"][0]),
        "peak": int(samples["resident"].max()),
        "at": _seconds(opened, number, np.array([account.peak]))[0],
        "lost": account.process.lost_buffers,
        "seconds": _seconds(opened, number, samples["time"][at]),
        "steps": [step if step >= 0 else None for step in samples["step"][at].tolist()],
        "resident": samples["resident"][at].tolist(),
        "kinds": _kinds(account, at),
        "marks": _marks(opened),
    }


def answer_at(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a MemoryMoment (web/src/api/types.ts)."""
    by = parameters.one_of(asked, "by", tuple(GROUP_KEYS), "kind")
    sampled = _sampled(opened)
    if not sampled:
        raise BadRequest("The run has no samples of its memory.", "Record it again: sleuth run program.py")
    number = _process(sampled, asked)
    time = _time(opened, number, asked, "at")
    account = _account(opened, number, _time(opened, number, asked, "near") or time)
    words = PEAK if time is None else "a moment"
    moment = report_at(opened.trace, account, account.peak if time is None else time, words)
    return moment_json(opened, number, moment, by)


# ---- the process and the moment


def _sampled(opened: OpenRun) -> list[int]:
    """Return the processes with memory samples, the largest peak first."""
    most = {at: int(one.memory["resident"].max()) for at, one in enumerate(opened.trace.processes) if len(one.memory)}
    return sorted(most, key=lambda at: -most[at])


def _process(sampled: list[int], asked: Parameters) -> int:
    number = parameters.integer(asked, "process", sampled[0])
    if number not in sampled:
        there = ", ".join(map(str, sorted(sampled)))
        raise BadRequest(f"Process {number} has no samples of its memory.", f"Take one of {there}.")
    return number


def _time(opened: OpenRun, number: int, asked: Parameters, name: str) -> int | None:
    """Return the requested moment, limited to the time of the samples."""
    if not asked.get(name):
        return None
    times = opened.trace.processes[number].memory["time"]
    seconds = min(max(parameters.number(asked, name, 0.0), -1e9), 1e9)
    return min(max(opened.table.lanes.clock(number, seconds), int(times[0])), int(times[-1]))


def _account(opened: OpenRun, number: int, time: int | None) -> MemoryAccount:
    """Return the account of the rows around a moment (the peak by default); of all rows if there are not too many."""
    asked = opened.table.process_indexes[number]
    samples = asked.process.memory
    near = int(samples["time"][int(samples["anonymous"].argmax())]) if time is None else time
    part = rows_around(asked.process, near, MAX_BUFFER_ROWS)
    return opened.cache("memory", (number, part), lambda: MemoryAccount(asked, part))


# ---- over time


def _points(samples: Array, most: int) -> Array:
    """Return all samples, or if there are too many, the first, the last, and the fullest of each interval."""
    last = len(samples) - 1
    return np.arange(last + 1) if last < most else np.unique([0, *fullest_samples(samples, most - 2), last])


def _kinds(memory_account: MemoryAccount, at: Array) -> list[dict[str, Any]]:
    """Return the memory of tensors at each point by kind; None if rows were not recorded."""
    known = memory_account.samples_with_tensors[at].tolist()
    sums = memory_account.by_kind(memory_account.samples["time"][at].astype(np.int64))
    return [
        {"kind": kind, "bytes": [size if told else None for size, told in zip(sums[kind].tolist(), known)]}
        for kind in KINDS
    ]


def _part(opened: OpenRun, number: int, memory_account: MemoryAccount) -> dict[str, Any] | None:
    """Return the time for which tensors are known, if that is not all of it."""
    if memory_account.lifetimes.row_range.whole:
        return None
    times = memory_account.samples["time"][memory_account.samples_with_tensors]
    begin, end = _seconds(opened, number, times[[0, -1]]) if len(times) else (0.0, 0.0)
    part = memory_account.lifetimes.row_range
    return {"from": begin, "to": end, "rows": part.end - part.begin, "of": part.total}


def _marks(opened: OpenRun) -> list[dict[str, Any]]:
    """Return the starts of epochs, or of steps if there are fewer than two epochs, thinned out if there are many."""
    times = step_times(opened)
    if not len(times.steps):
        return []
    batches = opened.trace.processes[int(times.processes[0])].batches
    epochs = batches.of_calls(times.calls, batches.epochs)
    first = np.flatnonzero(np.diff(epochs, prepend=-1) > 0)
    word, names, at = ("epoch", epochs, first) if len(first) > 1 else ("step", times.steps, np.arange(len(epochs)))
    at = at[:: -(-len(at) // MAX_MARKS)]
    return [{"seconds": float(times.begins[one]), "name": f"{word} {names[one]}"} for one in at.tolist()]


def _named(opened: OpenRun, number: int) -> dict[str, Any]:
    process = opened.trace.processes[number]
    return {"number": number, "name": process_name(process, number), "peak": int(process.memory["resident"].max())}


def _seconds(opened: OpenRun, number: int, times: Array) -> list[float]:
    return [float(one) for one in opened.table.lanes.seconds(number, times)]
