"""A check of data, for people."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorsleuth.core.formatting import duration, of, printable
from tensorsleuth.core.violation import Violation

NAME = 24  # columns for a feature's name, at most
MOST = 40  # violations that are shown in full
SIGNS = {"error": (" ✗", "bold red"), "warning": (" !", "bold yellow"), "note": (" ·", "dim")}


class Report(Protocol):
    @property
    def titles(self) -> dict[str, str]: ...
    @property
    def rows(self) -> dict[str, int]: ...
    @property
    def violations(self) -> tuple[Violation, ...]: ...
    @property
    def errors(self) -> tuple[Violation, ...]: ...
    @property
    def warnings(self) -> tuple[Violation, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def basis(self) -> str: ...
    @property
    def features(self) -> int: ...
    @property
    def seconds(self) -> float: ...


def data_table(report: Report) -> RenderableType:
    """The verdict, then a few lines for each violation."""
    parts: list[RenderableType] = [_verdict(report)]
    if report.violations:
        parts += [Text(), _table(report.violations[:MOST])]
    if len(report.violations) > MOST:
        parts.append(Text(f" {len(report.violations) - MOST:,} more: --json lists them all.", style="dim"))
    parts += [Text(f" Not checked: {printable(note)}.", style="dim") for note in report.notes]
    return Group(*parts)


def _verdict(report: Report) -> Table:
    if report.errors:
        said, style = "BROKEN", "bold red"
    else:
        said, style = ("ODD", "bold yellow") if report.warnings else ("OK", "bold green")
    counted = [of(len(report.errors), "violation")] if report.errors else []
    counted += [of(len(report.warnings), "warning")] if report.warnings else []
    line = Table.grid(padding=(0, 2, 0, 0))
    told = f"{_read(report)} · {of(report.features, 'feature')} · {' and '.join(counted) or 'nothing wrong'}"
    line.add_row(Text(f" {said}", style=style), Text(printable(told)))
    line.add_row(Text(), Text(printable(f"{report.basis} · {duration(report.seconds)}"), style="dim"))
    return line


def _read(report: Report) -> str:
    names = {"data": "", "validation": "validation ", "against": "against "}
    return ", ".join(f"{names[part]}{title} ({of(report.rows[part], 'row')})" for part, title in report.titles.items())


def _table(violations: tuple[Violation, ...]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", max_width=NAME)
    table.add_column(width=9)
    table.add_column(overflow="fold", ratio=1)
    for number, violation in enumerate(violations):
        if number:
            table.add_row()
        for row in _rows(violation):
            table.add_row(*row)
    return table


def _rows(violation: Violation) -> Iterator[tuple[Text, ...]]:
    sign = Text(*SIGNS.get(violation.severity, SIGNS["warning"]))
    where = Text(printable(violation.where or ""), style="dim")
    left = [(sign, Text(printable(violation.name), style="bold")), (Text(), where), (Text(), Text()), (Text(), Text())]
    lines = [("expected", violation.expected), ("found", _found(violation)), ("first", violation.first)]
    lines.append(("change", violation.change or ""))
    for beside, (label, text) in zip(left, ((label, text) for label, text in lines if text)):
        shown = Text(printable(text), style="default" if label != "change" else "cyan")
        yield (*beside, Text(label, style="dim"), shown)


def _found(violation: Violation) -> str:
    return f"{violation.amount}: {violation.found}" if violation.amount else violation.found


def as_text(report: Any) -> str:
    """Return the table without colours, as wide as the terminal."""
    out = io.StringIO()
    Console(file=out, width=shutil.get_terminal_size().columns, highlight=False).print(data_table(report))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def as_html(report: Any) -> str:
    """Return the table for a notebook."""
    console = Console(file=io.StringIO(), width=120, highlight=False, record=True)
    console.print(data_table(report))
    return console.export_html(
        inline_styles=True, code_format='<pre style="white-space: pre; line-height: 1.3">{code}</pre>'
    )
