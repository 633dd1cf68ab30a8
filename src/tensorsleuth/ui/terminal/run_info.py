"""The report of `sleuth info`."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from tensorsleuth.core.formatting import age, count, duration, local_time, plural, printable, size
from tensorsleuth.ui.terminal.run_statistics import RunStatistics
from tensorsleuth.ui.terminal.runs_table import value_health

MAX_NOT_COVERED = 3  # `sleuth why` lists all


def run_info(run_statistics: RunStatistics, meta: Mapping[str, object], now: float) -> Table:
    """Return a line for each known fact; `meta` is the content of run.json."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.title, table.title_justify, table.title_style = printable(run_statistics.name), "left", "bold"
    for name, text in _lines(run_statistics, meta, now).items():
        table.add_row(f" {name}", Text(printable(text)))
    table.add_row(" values", value_health(run_statistics))
    return table


def _lines(run_statistics: RunStatistics, meta: Mapping[str, object], now: float) -> dict[str, str]:
    lines = {
        "program": run_statistics.program,
        "in": str(meta.get("cwd", "")),
        "python": str(meta.get("python", "")),
        "started": f"{local_time(run_statistics.started)} ({age(run_statistics.started, now)} ago)",
        "ended": run_statistics.ended
        + (f" after {duration(run_statistics.seconds)}" if run_statistics.seconds is not None else ""),
        "steps": count(run_statistics.steps),
        "tensors": count(run_statistics.events),
        "bad": count(run_statistics.bad),
        **({"violations": count(run_statistics.violations)} if run_statistics.violations else {}),
        "calls": count(run_statistics.calls),
        "processes": count(run_statistics.processes),
        "size": size(run_statistics.bytes),
        "folder": str(run_statistics.path),
    }
    if run_statistics.watched:
        lines["watched"] = f"{run_statistics.watched:,} series, {plural(run_statistics.looks, 'sample')}"
    if run_statistics.logged:
        lines["logged"] = plural(run_statistics.logged, "message")
    if run_statistics.not_covered:
        lines["not covered"] = "; ".join(run_statistics.not_covered[:MAX_NOT_COVERED])
    return lines
