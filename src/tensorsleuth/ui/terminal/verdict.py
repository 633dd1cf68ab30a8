"""The verdict of `sleuth why`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tensorsleuth.core.confidence import checked_problems, confidence_words, healthy_words, unclear_words, verdict_mark
from tensorsleuth.core.error_text import first_line
from tensorsleuth.core.finding import Diagnosis, Evidence, Finding, OtherLine
from tensorsleuth.core.formatting import plural, printable
from tensorsleuth.core.run_end import RunEnd
from tensorsleuth.ui.terminal.end_report import LABEL_WIDTH, harmless_end, last_activity

MARGIN_WIDTH = len("   ▶ 1234 │ ")  # columns before the program's text
NAME_WIDTH = 28  # columns for a tensor's name


def verdict(diagnosis: Diagnosis, everything: bool = False) -> RenderableType:
    """Return the first finding in full, and the others in one line each (or all in full)."""
    if not diagnosis.findings:
        return Group(*_healthy(diagnosis))
    shown = diagnosis.findings if everything else diagnosis.findings[:1]
    parts: list[RenderableType] = []
    for finding in shown:
        end = diagnosis.end if not diagnosis.ended_well else None
        parts += [*_problem(finding, end if end is not None and end.kind == finding.cause else None), Text()]
    rest = diagnosis.findings[len(shown) :]
    parts += [Text(f" Also  {printable(headline(finding))}", style="dim") for finding in rest]
    return Group(*parts, *_caveats(diagnosis))


def more_findings(findings: Sequence[Finding]) -> list[RenderableType]:
    """Return a line for other reports on a run: the first of the findings, and how many others there are."""
    if not findings:
        return []
    table = Table.grid(padding=(0, 1, 0, 0))
    more = f" ({plural(len(findings) - 1, 'other')} as well)" if len(findings) > 1 else ""
    said = Text.assemble(("sleuth why", "bold"), f" has more{more}: ", printable(headline(findings[0])))
    table.add_row(Text(" →", "bold yellow"), said)
    return [table, Text()]


def unseen_functions(functions: Sequence[str]) -> list[RenderableType]:
    """Return the functions whose inside was not recorded, folded."""
    said = [Padding(Text(printable(f"{one[:1].upper()}{one[1:]}"), "dim"), (0, 0, 0, 1)) for one in functions[:3]]
    return [*said, Text()] if said else []


def _healthy(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    if diagnosis.verdict == "unknown":
        yield from _unclear(diagnosis)
    else:
        mark = Text(" HEALTHY", style="bold green")
        mark.append(f", {plural(len(diagnosis.notes), 'note')}" if diagnosis.notes else "", style="bold yellow")
        title = Table.grid(padding=(0, 2, 0, 0))
        title.add_column(no_wrap=True)
        title.add_row(mark, Text(f"{healthy_words(diagnosis)} ({checked_problems(diagnosis)})"))
        yield title
    how = harmless_end(diagnosis.end) if diagnosis.end is not None else None
    if how is not None and not diagnosis.unjudged:  # `unjudged` says it otherwise
        yield Text(printable(f"   Ended {how}"), style="dim")
    yield from _caveats(diagnosis)


def _unclear(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    """Yield the gaps that make the verdict unclear, and the command that would close them."""
    title = Table.grid(padding=(0, 1))
    mark = Text(f" {verdict_mark(diagnosis).upper()}", style="bold yellow", no_wrap=True)
    title.add_row(mark, Text(printable(unclear_words(diagnosis))))
    yield title
    for doubt in diagnosis.unclear[1:]:
        yield _labelled("Also", doubt.what)
    command = next((doubt.command for doubt in diagnosis.unclear if doubt.command), None)
    if command is not None:
        yield _labelled("To be sure", command)


def _caveats(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    for finding in diagnosis.notes:
        yield Text()
        yield _labelled("Note", headline(finding))
        yield _labelled("Fix", finding.fix or "")
    if diagnosis.notes:
        yield Text()
    for finding in diagnosis.masked:
        place = f"{os.path.basename(finding.file or '?')}:{finding.line}"
        yield Text(printable(f"   Masked, no harm: {finding.op} at {place}"), style="dim")
    for entry in diagnosis.not_covered:
        said = Text(printable(f"Not covered: {entry['what']} ({first_line(str(entry['why']))})"), style="dim")
        yield Padding(said, (0, 0, 0, 3))
    for line in diagnosis.trouble if diagnosis.findings and diagnosis.ended_well else diagnosis.all_trouble:
        yield Text(printable(f"   Not read: {line}"), style="yellow")


def _problem(finding: Finding, end: RunEnd | None = None) -> Iterator[RenderableType]:
    title = Table.grid(padding=(0, 1))
    title.add_row(Text(" PROBLEM", style="bold red"), Text(printable(headline(finding)), style="bold"))
    yield title
    yield Text()
    yield Padding(Text(printable(_place(finding)), style="cyan"), (0, 0, 0, 3))
    yield from _source(finding)
    yield Text()
    yield from (_evidence_row(piece, finding) for piece in finding.evidence)
    if finding.evidence:
        yield Text()
    if end is not None and not end.is_python_error:
        yield from last_activity(end)
    if finding.chain:
        yield _labelled("Path", " → ".join(finding.chain))
    if finding.shown_at is not None:
        yield _labelled("Used in", _other_line(finding.shown_at, finding))
    for number, effect in enumerate(finding.effects):
        yield _labelled("" if number else "Effects", effect)
    if finding.seen:
        yield _labelled("Seen", finding.seen)
    if finding.others:
        yield _labelled("Others", finding.others)
    for number, said in enumerate(finding.logged):
        yield _labelled("" if number else "Logged", said.words)
    yield _labelled("Confidence", confidence_words(finding, is_end=end is not None))
    if finding.fix:
        yield _labelled("Fix", _with_file_name(finding.fix, finding))


def _labelled(label: str, text: str) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=LABEL_WIDTH)
    table.add_row(Text(f"   {label}", style="bold"), Text(printable(text)))
    return table


def headline(finding: Finding) -> str:
    """Return the summary, with the file name in place of the path."""
    return _with_file_name(finding.summary, finding)


def _with_file_name(text: str, finding: Finding) -> str:
    return text.replace(finding.file, os.path.basename(finding.file)) if finding.file else text


def _place(finding: Finding) -> str:
    if finding.file is None:
        where = f"{finding.name} ({finding.op}), from an unknown line"
    else:
        where = f"{_relative_path(finding.file)}:{finding.line}, in {finding.function}"
    iteration = f"iteration {finding.iteration} of its loop" if finding.iteration else None
    layer = f"layer {finding.layer}" if finding.layer else None
    return " · ".join(part for part in (where, layer, finding.when, iteration, finding.replica, finding.worker) if part)


def _relative_path(path: str) -> str:
    """Return the path as a user in this directory would type it."""
    near = os.path.relpath(path)
    return path if near.startswith("..") else near


def _source(finding: Finding) -> Iterator[RenderableType]:
    """Yield the line itself in full, folded if need be; the lines around it are cut at the terminal's width."""
    for number, text in finding.source:
        if number == finding.line:
            yield _marked_line(number, printable(text))
            if finding.columns is not None:
                yield Underline(text, finding.columns)
            continue
        line = Text(f"     {number:>4} │ {printable(text)}", style="dim")
        line.no_wrap, line.overflow = True, "ellipsis"
        yield line


def _marked_line(number: int, text: str) -> Table:
    code = text.lstrip()
    table = Table.grid()
    mark = Text(f"   ▶ {number:>4} │ {' ' * (len(text) - len(code))}", style="bold red")
    table.add_row(mark, Text(code, style="bold", overflow="fold"))
    return table


class Underline:
    """A line under an expression of the marked line; nothing where that line is folded."""

    def __init__(self, text: str, columns: tuple[int, int]) -> None:
        begin, end = columns
        self._before, self._marked = printable(text[:begin]), printable(text[begin:end])
        self._width = MARGIN_WIDTH + cell_len(printable(text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._width <= options.max_width:
            yield Text(" " * (MARGIN_WIDTH + cell_len(self._before)) + "─" * cell_len(self._marked), style="bold red")


def _evidence_row(piece: Evidence, finding: Finding) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=7)
    kind = f"{piece.dtype} {list(piece.shape)}" if piece.shape is not None else piece.dtype
    said = Text(printable(f"{_short(piece.name)}  "), style="bold")
    said.append(printable(f"{kind}  ") if kind else "", style="default not bold")
    said.append(printable(piece.health), style="default not bold")
    said.append(printable(_line(piece, finding)), style="dim not bold")
    table.add_row(f"   {piece.role}", said)
    return table


def _other_line(other: OtherLine, finding: Finding) -> str:
    where = f"line {other.line}" if other.file == finding.file else f"{os.path.basename(other.file)}:{other.line}"
    return f"{where}: {other.code}" if other.code else where


def _short(name: str) -> str:
    """Return the end of a long name, which identifies it."""
    return name if len(name) <= NAME_WIDTH else f"…{name[-NAME_WIDTH + 1 :]}"


def _line(piece: Evidence, finding: Finding) -> str:
    if not piece.line or piece.line == f"{finding.file}:{finding.line}":
        return ""
    file, _, number = piece.line.rpartition(":")
    return f"  line {number}" if file == finding.file else f"  {os.path.basename(file)}:{number}"
