"""The list of runs, with a summary of each."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorsleuth.core.modes import Mode
from tensorsleuth.trace.run_summary import RunSummary, end_words, mode_of, step_count, summarize
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.growth import Signature, signature
from tensorsleuth.ui.web.run.question import Answer, Parameters

if TYPE_CHECKING:
    from tensorsleuth.ui.web.run.open_run import OpenRun


def list_runs(logdir: Path, asked: Parameters) -> Answer:
    """Return the runs of a log directory, newest first, as a page of RunSummary."""
    runs = run_folder.list_runs(logdir)
    begin, end = parameters.page(asked, len(runs))
    items = [_run_json(run) for run in runs[begin:end]]
    return {"begin": begin, "end": end, "total": len(runs), "items": items}


def _run_json(run: Path) -> dict[str, Any]:
    counted = _summaries.summary_of(run)
    meta = run_folder.read_meta(run)
    numbers = {"steps": counted.steps, "tensors": counted.events, "bad": counted.bad}
    return _meta_json(run, meta, run_folder.is_alive(run), counted.mode) | numbers


class _SummaryCache:
    """Keeps summaries of runs that have not grown since: to count a run with bad values, all of it is read."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[Signature, RunSummary]] = {}

    def summary_of(self, run: Path) -> RunSummary:
        now = signature(run)
        known = self._known.get(run)
        if known is None or known[0] != now:
            known = now, summarize(run)
            self._known[run] = known
        return known[1]


_summaries = _SummaryCache()


def summary_json(opened: OpenRun) -> dict[str, Any]:
    """Return the summary of an open run."""
    trace, table = opened.trace, opened.table
    steps = max((step_count(process) for process in trace.processes), default=0)
    numbers = {"steps": steps, "tensors": len(table.order), "bad": len(table.bad)}
    return _meta_json(opened.path, trace.meta, opened.is_live, mode_of(trace)) | numbers


def _meta_json(run: Path, meta: dict[str, Any], alive: bool, mode: Mode | None) -> dict[str, Any]:
    end: dict[str, Any] = meta.get("ended", {})
    started, program = meta.get("started"), [str(word) for word in meta.get("program", [])]
    return {
        "name": run.name,
        "program": Path(program[0]).name if program and program[0] != "-m" else " ".join(program[:2]),
        "command": " ".join(program),
        "started": started,
        "seconds": _seconds(started, end.get("time")),
        "status": _status(end, alive),
        "ending": end_words(end, alive),
        "mode": mode.name if mode is not None else "unknown",
    }


def _seconds(started: Any, ended: Any) -> float | None:
    if not isinstance(started, int | float) or not isinstance(ended, int | float):
        return None
    try:
        return float(ended) - started if math.isfinite(ended) else None
    except OverflowError:
        return None


def _status(end: dict[str, Any], alive: bool) -> str:
    if isinstance(end.get("signal"), str):
        return "killed"
    if isinstance(end.get("exit"), int):
        return "failed" if end["exit"] else "finished"
    return "running" if alive else "unknown"
