"""The time as a trace for chrome://tracing and Perfetto, in the JSON of Chrome's trace event format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.analyze.profile.flame import FlameBar, flame_bars
from tensorsleuth.analyze.profile.profile import Profile
from tensorsleuth.core.errors import SleuthError

STEPS_LANE = 0  # threads have lanes from 1 on


def write_trace(profile: Profile, path: Path, run: str, whole: bool) -> int:
    """Write the steps of the profile, or the whole run; return the number of events."""
    told = list(trace_events(profile, run, whole))
    try:
        with path.open("w", encoding="utf-8") as file:
            json.dump({"traceEvents": told, "displayTimeUnit": "ms", "otherData": {"run": run}}, file)
    except OSError as error:
        raise SleuthError(f"{path} cannot be written: {error.strerror}. Name another file: --chrome FILE") from error
    return len(told)


def trace_events(profile: Profile, run: str, whole: bool) -> Iterator[dict[str, Any]]:
    """Yield complete events (`X`), nested by time on each thread, and the names of the lanes (`M`)."""
    steps = profile.steps
    chosen = np.ones(len(steps), bool) if whole else profile.chosen
    first, last = (int(steps.begin.min()), int(steps.end.max())) if whole else profile.time_range
    seen = flame_bars(profile, first, last)
    yield _name_event("process_name", STEPS_LANE, run)
    yield from _lanes(profile, {bar.thread for bar in seen})
    for at in np.flatnonzero(chosen).tolist():
        begin, end = int(steps.begin[at]), int(steps.end[at])
        yield _event(f"step {steps.number[at]}", "step", STEPS_LANE, begin - first, end - begin, {})
    for bar in seen:
        yield _event(bar.name, bar.kind, bar.thread + 1, bar.begin - first, bar.end - bar.begin, _event_args(bar))


def _lanes(profile: Profile, threads: set[int]) -> Iterator[dict[str, Any]]:
    yield _name_event("thread_name", STEPS_LANE, "steps")
    for thread in sorted(threads | {profile.python_calls.thread}):
        name = f"Python, thread {thread}" if thread == profile.python_calls.thread else f"thread {thread}"
        yield _name_event("thread_name", thread + 1, name)


def _name_event(what: str, lane: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": 1, "tid": lane, "args": {"name": name}}


def _event(name: str, kind: str, lane: int, begin: int, time: int, told: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": kind,
        "pid": 1,
        "tid": lane,
        "ts": begin / 1e3,  # microseconds
        "dur": time / 1e3,
        "args": told,
    }


def _event_args(flame_bar: FlameBar) -> dict[str, Any]:
    if flame_bar.op is None:
        return {}
    line = f"{flame_bar.op.file}:{flame_bar.op.line}" if flame_bar.op.file else None
    told = {
        "op": flame_bar.op.name,
        "layer": flame_bar.op.layer,
        "line": line,
        "gradient_of": flame_bar.op.differentiates,
    }
    return {name: value for name, value in told.items() if value}
