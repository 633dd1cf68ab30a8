"""One run, told in full."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from tensorsleuth.core.formatting import age, count, duration, moment, of, printable, size
from tensorsleuth.ui.terminal.runs_table import values
from tensorsleuth.ui.terminal.summary import Summary

MOST_NOT_COVERED = 3  # sleuth why has all


def run_info(summary: Summary, meta: Mapping[str, object], now: float) -> Table:
    """A line for each thing known; `meta` is what run.json says."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.title, table.title_justify, table.title_style = printable(summary.name), "left", "bold"
    for name, text in _lines(summary, meta, now).items():
        table.add_row(f" {name}", Text(printable(text)))
    table.add_row(" values", values(summary))
    return table


def _lines(summary: Summary, meta: Mapping[str, object], now: float) -> dict[str, str]:
    lines = {
        "program": summary.program,
        "in": str(meta.get("cwd", "")),
        "python": str(meta.get("python", "")),
        "started": f"{moment(summary.started)} ({age(summary.started, now)} ago)",
        "ended": summary.ended + (f" after {duration(summary.seconds)}" if summary.seconds is not None else ""),
        "steps": count(summary.steps),
        "tensors": count(summary.events),
        "bad": count(summary.bad),
        **({"violations": count(summary.violations)} if summary.violations else {}),
        "calls": count(summary.calls),
        "processes": count(summary.processes),
        "size": size(summary.bytes),
        "folder": str(summary.path),
    }
    if summary.watched:
        lines["watched"] = f"{summary.watched:,} series, {of(summary.looks, 'sample')}"
    if summary.logged:
        lines["logged"] = of(summary.logged, "message")
    if summary.not_covered:
        lines["not covered"] = "; ".join(summary.not_covered[:MOST_NOT_COVERED])
    return lines
