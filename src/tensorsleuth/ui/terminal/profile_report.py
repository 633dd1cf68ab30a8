"""The report of `sleuth profile`."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tensorsleuth.analyze.profile.report import ProfileReport, part_title
from tensorsleuth.analyze.profile.steps import OUTLIER_FACTOR
from tensorsleuth.analyze.profile.time_tables import TimeRow
from tensorsleuth.core.formatting import plural, printable

BAR_WIDTH = 24
COLORS = {"input": "yellow", "ops": "green", "eager": "cyan", "probes": "dim", "unseen": "blue", "python": "magenta"}
MIN_WIDTH_FOR_SOURCE = 100  # columns; from this width on, tables show source lines


def profile_report(profile_report: ProfileReport, by: str, rows: int, width: int) -> RenderableType:
    """Return the verdict, the parts of a step, the requested table, the slowest steps, and notes."""
    parts: list[RenderableType] = [
        Padding(Text(printable(profile_report.bottleneck.says), style="bold"), (0, 1)),
        Text(),
    ]
    parts += [Text(f" {_about(profile_report)}", style="dim"), _split(profile_report), Text()]
    parts += [_table(profile_report, by, rows, width), Text()]
    if profile_report.step is None and profile_report.slowest:
        parts += [Text(" Slowest steps", style="bold"), _slowest_steps(profile_report), Text()]
    return Group(*parts, *_notes(profile_report))


def _about(profile_report: ProfileReport) -> str:
    usual = milliseconds(profile_report.wall / max(profile_report.steps, 1))
    if profile_report.step is not None:
        return f"Step {profile_report.step}: {usual}"
    each = f"{plural(profile_report.steps, 'step')}, {usual}{' each' if profile_report.steps != 1 else ''}"
    without = " and ".join(_left_out(profile_report))
    return f"{each}; without {without}" if without else each


def _left_out(profile_report: ProfileReport) -> Iterator[str]:
    if profile_report.left_out:
        yield f"{plural(profile_report.left_out, 'step')} in which a function ran first"
    if profile_report.outliers:
        share = percent(profile_report.outlier_share)
        slow = plural(profile_report.outliers, "step")
        yield f"{slow} over {OUTLIER_FACTOR} times as long as the median ({share} of the time)"


def _split(profile_report: ProfileReport) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=28)
    table.add_column(justify="right", width=10)
    table.add_column(justify="right", width=6)
    table.add_column(width=BAR_WIDTH)
    for part, time in profile_report.parts.items():
        share = time / max(profile_report.wall, 1)
        bar = Text("█" * round(share * BAR_WIDTH), style=COLORS[part])
        table.add_row(f"   {part_title(part)}", milliseconds(time / max(profile_report.steps, 1)), percent(share), bar)
    return table


def _table(profile_report: ProfileReport, by: str, rows: int, width: int) -> RenderableType:
    lines, whole = profile_report.tables[by], max(profile_report.total_time(by), 1)
    sources = by == "line" and width >= MIN_WIDTH_FOR_SOURCE
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", expand=False)
    table.add_column(f"   {by}", no_wrap=True, overflow="ellipsis", max_width=max(24, width - 44))
    for name in ("ms/step", "share", "runs"):
        table.add_column(name, no_wrap=True, justify="right")
    for name in ["most of it at" if by == "op" else "mostly", *(["source"] if sources else [])]:
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for line in lines[:rows]:
        table.add_row(*_row(line, by, whole, profile_report.steps), *([Text(printable(line.text))] if sources else []))
    if len(lines) <= rows:
        return table
    return Group(table, Text(f"   and {len(lines) - rows:,} more: --rows {len(lines)}", style="dim"))


def _row(time_row: TimeRow, by: str, whole: int, steps: int) -> list[str | Text]:
    last = _place(time_row) if by == "op" else time_row.main_op
    name = _place(time_row) if by == "line" and time_row.file else time_row.name
    time = f"{time_row.time / 1e6 / max(steps, 1):,.2f}"
    return [
        Text(f"   {printable(name)}"),
        time,
        percent(time_row.time / whole),
        f"{time_row.count:,}",
        Text(printable(last)),
    ]


def _place(time_row: TimeRow) -> str:
    return f"{os.path.basename(time_row.file)}:{time_row.line}" if time_row.file else "no line"


def _slowest_steps(profile_report: ProfileReport) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("right", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=justify == "right")
    for slow in profile_report.slowest:
        times = f"{slow.times_usual:.1f}x"
        table.add_row(f"   step {slow.step}", milliseconds(slow.time), times, Text(printable(slow.why)))
    return table


def _notes(profile_report: ProfileReport) -> Iterator[RenderableType]:
    for note in profile_report.notes:
        yield Padding(Text(printable(note), style="dim"), (0, 0, 0, 3))


def milliseconds(nanoseconds: float) -> str:
    """Return a text such as `12 ms` or `0.42 ms`."""
    ms = nanoseconds / 1e6
    return f"{ms:,.0f} ms" if ms >= 99.5 else f"{ms:.1f} ms" if ms >= 9.95 else f"{ms:.2f} ms"


def percent(share: float) -> str:
    """Return a text such as `62 %`."""
    return "<1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"
