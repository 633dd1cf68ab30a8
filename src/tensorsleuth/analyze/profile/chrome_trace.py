"""The time as a trace that chrome://tracing and Perfetto open: the JSON of Chrome's trace event format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.analyze.profile.flame import Bar, bars
from tensorsleuth.analyze.profile.profile import Profile
from tensorsleuth.core.errors import SleuthError

STEPS = 0  # the number of the lane of steps; threads are numbered from 1


def write(profile: Profile, path: Path, run: str, whole: bool) -> int:
    """Write the steps that the profile is about, or the whole run; how many events it has."""
    told = list(events(profile, run, whole))
    try:
        with path.open("w", encoding="utf-8") as file:
            json.dump({"traceEvents": told, "displayTimeUnit": "ms", "otherData": {"run": run}}, file)
    except OSError as error:
        raise SleuthError(f"{path} cannot be written: {error.strerror}. Give another file: --chrome FILE") from error
    return len(told)


def events(profile: Profile, run: str, whole: bool) -> Iterator[dict[str, Any]]:
    """Complete events (`X`), nested by their times on each thread, and the names of the lanes (`M`)."""
    steps = profile.steps
    chosen = np.ones(len(steps), bool) if whole else profile.chosen
    first, last = (int(steps.begin.min()), int(steps.end.max())) if whole else profile.stretch
    seen = bars(profile, first, last)
    yield _named("process_name", STEPS, run)
    yield from _lanes(profile, {bar.thread for bar in seen})
    for at in np.flatnonzero(chosen).tolist():
        begin, end = int(steps.begin[at]), int(steps.end[at])
        yield _event(f"step {steps.number[at]}", "step", STEPS, begin - first, end - begin, {})
    for bar in seen:
        yield _event(bar.name, bar.kind, bar.thread + 1, bar.begin - first, bar.end - bar.begin, _told(bar))


def _lanes(profile: Profile, threads: set[int]) -> Iterator[dict[str, Any]]:
    yield _named("thread_name", STEPS, "steps")
    for thread in sorted(threads | {profile.made.thread}):
        name = f"Python, thread {thread}" if thread == profile.made.thread else f"thread {thread}"
        yield _named("thread_name", thread + 1, name)


def _named(what: str, lane: int, name: str) -> dict[str, Any]:
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


def _told(bar: Bar) -> dict[str, Any]:
    if bar.op is None:
        return {}
    line = f"{bar.op.file}:{bar.op.line}" if bar.op.file else None
    told = {"op": bar.op.name, "layer": bar.op.layer, "line": line, "gradient_of": bar.op.differentiates}
    return {name: value for name, value in told.items() if value}
