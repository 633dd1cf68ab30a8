"""A diagnosis on one screen."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorsleuth.model.finding import Diagnosis, Evidence, Finding
from tensorsleuth.show.amounts import printable


def verdict(diagnosis: Diagnosis, everything: bool = False) -> RenderableType:
    """The first finding in full, the others in a line each (or all in full)."""
    if not diagnosis.findings:
        return Group(*_healthy(diagnosis))
    shown = diagnosis.findings if everything else diagnosis.findings[:1]
    parts: list[RenderableType] = []
    for finding in shown:
        parts += [*_problem(finding), Text()]
    rest = len(diagnosis.findings) - len(shown)
    if rest:
        parts.append(Text(f" {rest} more: sleuth why --all", style="dim"))
    return Group(*parts, *_caveats(diagnosis))


def _healthy(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    if not diagnosis.events:
        yield Text(" NOTHING was recorded in this run. Was TensorFlow used? See: sleuth info", style="bold yellow")
    else:
        text = Text(" HEALTHY ", style="bold green")
        text.append(f" {diagnosis.steps:,} steps, {diagnosis.events:,} tensors, no bad value.", style="default")
        yield text
    yield from _caveats(diagnosis)


def _caveats(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    for finding in diagnosis.masked:
        place = f"{os.path.basename(finding.file or '?')}:{finding.line}"
        yield Text(printable(f"   Masked, no harm: {finding.op} at {place}"), style="dim")
    for entry in diagnosis.not_covered:
        yield Text(printable(f"   Not covered: {entry['what']} ({entry['why']})"), style="dim")
    for line in diagnosis.trouble:
        yield Text(printable(f"   Not read: {line}"), style="yellow")


def _problem(finding: Finding) -> Iterator[RenderableType]:
    headline = Text(" PROBLEM ", style="bold red")
    headline.append(f" {printable(_headline(finding))}", style="bold default")
    yield headline
    yield Text()
    yield Text(f"   {printable(_place(finding))}", style="cyan")
    yield from _source(finding)
    yield Text()
    yield _evidence(finding.evidence)
    yield Text()
    if finding.fix:
        yield _labelled("Change", finding.fix)
    yield _labelled("Sure", _sureness(finding))


def _labelled(label: str, text: str) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=8)
    table.add_row(f"  {label}", Text(printable(text)))
    return table


def _sureness(finding: Finding) -> str:
    if finding.cause == "origin":
        return "of the line: what went in was finite, what came out was not. The reason is not known"
    return "yes" if finding.confidence >= 0.9 else "fairly" if finding.confidence >= 0.7 else "not very"


def _headline(finding: Finding) -> str:
    return finding.summary.replace(finding.file, os.path.basename(finding.file)) if finding.file else finding.summary


def _place(finding: Finding) -> str:
    if finding.file is None:
        return f"{finding.name} ({finding.op}), from no line that is known"
    where = f"{_near(finding.file)}:{finding.line}, in {finding.function}"
    return where if finding.step is None else f"{where}   first at step {finding.step}"


def _near(path: str) -> str:
    """The path as a person here would type it."""
    near = os.path.relpath(path)
    return path if near.startswith("..") else near


def _source(finding: Finding) -> Iterator[Text]:
    for number, text in finding.source:
        here = number == finding.line
        line = Text(f"   {'▶' if here else ' '} {number:>4} │ ", style="bold red" if here else "dim")
        line.append(printable(text), style="bold default" if here else "dim")
        line.no_wrap, line.overflow = True, "ellipsis"
        yield line


def _evidence(evidence: tuple[Evidence, ...]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for piece in evidence:
        where = os.path.basename(piece.line) if piece.line else ""
        kind = f"{piece.dtype} {list(piece.shape) if piece.shape is not None else ''}"
        table.add_row(
            f"   {piece.role}", printable(piece.name), kind, piece.health, Text(printable(where), style="dim")
        )
    return table
