"""A run's time on one screen."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tensorsleuth.analyze.profile.report import Report, words
from tensorsleuth.analyze.profile.time_tables import Line
from tensorsleuth.core.formatting import of, printable

BAR = 24
COLORS = {"input": "yellow", "ops": "green", "eager": "cyan", "probes": "dim", "unseen": "blue", "python": "magenta"}
WIDE = 100  # columns from which a table has room for more


def profile(report: Report, by: str, rows: int, width: int) -> RenderableType:
    """The verdict, what each step goes into, the table that was asked for, the slowest steps, what is not known."""
    parts: list[RenderableType] = [Padding(Text(printable(report.bound.says), style="bold"), (0, 1)), Text()]
    parts += [Text(f" {_about(report)}", style="dim"), _split(report), Text()]
    parts += [_table(report, by, rows, width), Text()]
    if report.step is None and report.slowest:
        parts += [Text(" Slowest steps", style="bold"), _slow(report), Text()]
    return Group(*parts, *_notes(report))


def _about(report: Report) -> str:
    usual = milliseconds(report.wall / max(report.steps, 1))
    if report.step is not None:
        return f"Step {report.step}: {usual}"
    without = f"; without {of(report.left_out, 'step')} in which a function ran first" if report.left_out else ""
    each = f"{of(report.steps, 'step')}, {usual}{' each' if report.steps != 1 else ''}"
    return f"{each}{without}"


def _split(report: Report) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=28)
    table.add_column(justify="right", width=10)
    table.add_column(justify="right", width=6)
    table.add_column(width=BAR)
    for part, time in report.parts.items():
        share = time / max(report.wall, 1)
        bar = Text("█" * round(share * BAR), style=COLORS[part])
        table.add_row(f"   {words(part)}", milliseconds(time / max(report.steps, 1)), percent(share), bar)
    return table


def _table(report: Report, by: str, rows: int, width: int) -> RenderableType:
    lines, whole = report.tables[by], max(report.whole(by), 1)
    sources = by == "line" and width >= WIDE
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", expand=False)
    table.add_column(f"   {by}", no_wrap=True, overflow="ellipsis", max_width=max(24, width - 44))
    for name in ("ms/step", "share", "runs"):
        table.add_column(name, no_wrap=True, justify="right")
    for name in ["most of it at" if by == "op" else "mostly", *(["source"] if sources else [])]:
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for line in lines[:rows]:
        table.add_row(*_row(line, by, whole, report.steps), *([Text(printable(line.text))] if sources else []))
    if len(lines) <= rows:
        return table
    return Group(table, Text(f"   and {len(lines) - rows:,} more: --rows {len(lines)}", style="dim"))


def _row(line: Line, by: str, whole: int, steps: int) -> list[str | Text]:
    last = _place(line) if by == "op" else line.most
    name = _place(line) if by == "line" and line.file else line.name
    time = f"{line.time / 1e6 / max(steps, 1):,.2f}"
    return [Text(f"   {printable(name)}"), time, percent(line.time / whole), f"{line.count:,}", Text(printable(last))]


def _place(line: Line) -> str:
    return f"{os.path.basename(line.file)}:{line.line}" if line.file else "no line"


def _slow(report: Report) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=justify == "right")
    for slow in report.slowest:
        times = f"{slow.times_usual:.1f}x"
        table.add_row(f"   step {slow.step}", milliseconds(slow.time), times, Text(printable(slow.why)))
    return table


def _notes(report: Report) -> Iterator[RenderableType]:
    for note in report.notes:
        yield Padding(Text(printable(note), style="dim"), (0, 0, 0, 3))


def milliseconds(nanoseconds: float) -> str:
    """12 ms, 0.42 ms"""
    ms = nanoseconds / 1e6
    return f"{ms:,.0f} ms" if ms >= 99.5 else f"{ms:.1f} ms" if ms >= 9.95 else f"{ms:.2f} ms"


def percent(share: float) -> str:
    """62 %"""
    return "<1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"
