"""A run in numbers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorsleuth.core.error_text import first_line
from tensorsleuth.core.modes import Mode
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import run_folder


@dataclass(frozen=True)
class RunSummary:
    """One run's row in the list of runs."""

    name: str
    path: Path
    program: str
    started: float
    ended: str
    seconds: float | None
    steps: int
    events: int
    calls: int
    bytes: int
    bad: int
    processes: int
    violations: int = 0
    watched: int = 0  # number of watched series
    looks: int = 0  # number of their samples
    logged: int = 0  # number of logged messages
    not_covered: tuple[str, ...] = ()  # the parts that were not recorded, and why
    mode: Mode | None = None  # the recording mode


def summarize(run: Path) -> RunSummary:
    """Count what a run holds."""
    return summarize_trace(Trace(run))


def summarize_trace(trace: Trace) -> RunSummary:
    """Count what an open run holds."""
    run, meta = trace.path, trace.meta
    end = meta.get("ended", {})
    watched = trace.watched()
    started = float(meta.get("started", 0.0))
    return RunSummary(
        name=run.name,
        path=run,
        program=" ".join(meta.get("program", [])),
        started=started,
        ended=end_words(end, run_folder.is_alive(run)),
        seconds=end["time"] - started if isinstance(end.get("time"), float) else None,
        steps=max((step_count(process) for process in trace.processes), default=0),
        events=sum(process.event_count for process in trace.processes),
        calls=sum(process.call_count for process in trace.processes),
        bytes=_size(run),
        bad=sum(sum(1 for _ in process.bad_rows()) for process in trace.processes),
        processes=len(trace.processes),
        violations=_violations(trace),
        watched=len(watched),
        looks=sum(map(len, watched)),
        logged=len(trace.logs()),
        not_covered=tuple(f"{one['what']} ({first_line(str(one['why']))})" for one in trace.not_covered),
        mode=mode_of(trace),
    )


def mode_of(trace: Trace) -> Mode | None:
    """Return the recording mode of a run, as its first process states it."""
    for process in trace.processes:
        settings = process.catalogue.meta.get("settings")
        name = settings.get("mode") if isinstance(settings, dict) else None
        if isinstance(name, str) and name in Mode.__members__:
            return Mode[name]
    return None


def end_words(end: dict[str, Any], alive: bool) -> str:
    """Return how a run ended, from run.json, in a word or two."""
    if isinstance(end.get("signal"), str):
        return str(end["signal"])
    if isinstance(end.get("exit"), int):
        return f"exit {end['exit']}"
    return "running" if alive else "unknown"


def ended_well(trace: Trace) -> bool:
    """Return whether the program is known to have ended by itself, without an error."""
    end = trace.meta.get("ended")
    if not isinstance(end, dict) or end.get("exit") != 0 or isinstance(end.get("signal"), str):
        return False
    return not any("uncaught" in process.catalogue.meta for process in trace.processes)


def step_count(process: ProcessTrace) -> int:
    """Return the number of training steps: as the recorder counted them, or from the calls of a killed run."""
    counted = process.catalogue.meta.get("steps")
    if isinstance(counted, int):
        return counted
    return int(process.calls["step"].max(initial=-1)) + 1 if len(process.calls) else 0


def _violations(trace: Trace) -> int:
    """Return the number of violations. The trace has the first ones of each place, and the number of the others."""
    times: dict[tuple[object, ...], int] = {}
    for one in trace.violations:
        key = one.file, one.line, one.name, one.rule
        times[key] = max(times.get(key, 0), one.times)
    return sum(times.values())


def _size(run: Path) -> int:
    return sum(_disk_size(os.path.join(folder, name)) for folder, _, names in os.walk(run) for name in names)


def _disk_size(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except OSError:  # deleted meanwhile
        return 0
