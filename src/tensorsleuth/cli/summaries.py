"""The numbers of a run, or as much as is known where its trace cannot be read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorsleuth.show.summary import Summary
from tensorsleuth.trace import rundir


@dataclass(frozen=True)
class Outline:
    """What run.json alone says about a run: it has no numbers."""

    name: str
    path: Path
    program: str
    started: float
    ended: str
    seconds: float | None
    steps: int | None = None
    events: int | None = None
    calls: int | None = None
    bytes: int | None = None
    bad: int | None = None
    processes: int | None = None


def summarize(run: Path) -> Summary:
    """A run with its numbers; without them where the trace is unreadable, for then the rest still helps."""
    try:
        from tensorsleuth.trace import runs

        return runs.summarize(run)
    except Exception:
        return outline(run)


def outline(run: Path) -> Outline:
    meta = rundir.read_meta(run)
    started = float(meta.get("started", 0.0))
    end = meta.get("ended", {})
    return Outline(
        name=run.name,
        path=run,
        program=" ".join(meta.get("program", [])),
        started=started,
        ended=_ended(end, rundir.is_alive(run)),
        seconds=end["time"] - started if isinstance(end.get("time"), float) else None,
    )


def as_json(summary: Summary) -> dict[str, Any]:
    """The fields of a summary, as JSON can hold them."""
    names = [name for name in Outline.__dataclass_fields__ if name != "path"]
    return {**{name: getattr(summary, name) for name in names}, "path": str(summary.path)}


def _ended(end: dict[str, Any], alive: bool) -> str:
    if isinstance(end.get("signal"), str):
        return str(end["signal"])
    if isinstance(end.get("exit"), int):
        return f"exit {end['exit']}"
    return "running" if alive else "unknown"
