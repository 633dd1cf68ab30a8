"""The report of a check of data, for people."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorsleuth.core.formatting import duration, plural, printable
from tensorsleuth.core.violation import Violation

MAX_NAME_WIDTH = 24  # columns
MAX_SHOWN_VIOLATIONS = 40  # shown in full
SEVERITY_SIGNS = {"error": (" ✗", "bold red"), "warning": (" !", "bold yellow"), "note": (" ·", "dim")}


class ReportFields(Protocol):
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


def data_table(report_fields: ReportFields) -> RenderableType:
    """Return the verdict, then a few lines for each violation."""
    parts: list[RenderableType] = [_verdict(report_fields)]
    if report_fields.violations:
        parts += [Text(), _table(report_fields.violations[:MAX_SHOWN_VIOLATIONS])]
    if len(report_fields.violations) > MAX_SHOWN_VIOLATIONS:
        parts.append(
            Text(f" {len(report_fields.violations) - MAX_SHOWN_VIOLATIONS:,} more: --json lists them all.", style="dim")
        )
    parts += [Text(f" Not checked: {printable(note)}.", style="dim") for note in report_fields.notes]
    return Group(*parts)


def _verdict(report_fields: ReportFields) -> Table:
    if report_fields.errors:
        said, style = "BROKEN", "bold red"
    else:
        said, style = ("ODD", "bold yellow") if report_fields.warnings else ("OK", "bold green")
    counted = [plural(len(report_fields.errors), "violation")] if report_fields.errors else []
    counted += [plural(len(report_fields.warnings), "warning")] if report_fields.warnings else []
    line = Table.grid(padding=(0, 2, 0, 0))
    told = (
        f"{_read(report_fields)} · {plural(report_fields.features, 'feature')} · "
        f"{' and '.join(counted) or 'nothing wrong'}"
    )
    line.add_row(Text(f" {said}", style=style), Text(printable(told)))
    line.add_row(Text(), Text(printable(f"{report_fields.basis} · {duration(report_fields.seconds)}"), style="dim"))
    return line


def _read(report_fields: ReportFields) -> str:
    names = {"data": "", "validation": "validation ", "against": "against "}
    return ", ".join(
        f"{names[part]}{title} ({plural(report_fields.rows[part], 'row')})"
        for part, title in report_fields.titles.items()
    )


def _table(violations: tuple[Violation, ...]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", max_width=MAX_NAME_WIDTH)
    table.add_column(width=9)
    table.add_column(overflow="fold", ratio=1)
    for number, violation in enumerate(violations):
        if number:
            table.add_row()
        for row in _rows(violation):
            table.add_row(*row)
    return table


def _rows(violation: Violation) -> Iterator[tuple[Text, ...]]:
    sign = Text(*SEVERITY_SIGNS.get(violation.severity, SEVERITY_SIGNS["warning"]))
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
