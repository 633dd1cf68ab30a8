"""The answer of a debugger command, laid out for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text as RichText

from tensorsleuth.core.formatting import printable
from tensorsleuth.ui.debugger.result import (
    Block,
    CodeBlock,
    CodeLine,
    CommandResult,
    TableBlock,
    TextBlock,
    Tone,
    VerdictBlock,
)
from tensorsleuth.ui.terminal.verdict import verdict

STYLES = {
    Tone.PLAIN: "",
    Tone.TITLE: "bold",
    Tone.DIM: "dim",
    Tone.GOOD: "green",
    Tone.BAD: "red",
    Tone.HINT: "cyan",
}
MARGIN_WIDTH = 8  # columns for a line's health


def render_result(command_result: CommandResult) -> RenderableType:
    """Return all blocks of a result."""
    parts: list[RenderableType] = []
    for before, block in zip((None, *command_result.blocks), command_result.blocks):
        parts += [RichText()] if isinstance(before, TableBlock) else []
        parts.append(_block(block))
    return Group(*parts)


def _block(block: Block) -> RenderableType:
    match block:
        case TextBlock():
            return render_text(block)
        case TableBlock():
            return _table(block)
        case CodeBlock():
            return Group(*(text for line in block.lines for text in (render_code_line(line), *_notes(line))))
        case VerdictBlock():
            return verdict(block.diagnosis)


def render_text(block: TextBlock) -> RichText:
    """Return lines of text, without escape sequences: a trace may contain some."""
    lines = (printable(line) for line in block.text.splitlines())
    return RichText("\n".join(lines), style=STYLES[block.tone])


def _table(block: TableBlock) -> RichTable:
    table = RichTable(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=any(block.columns), header_style="dim"
    )
    for at, column in enumerate(block.columns):
        table.add_column(printable(column), overflow="fold" if at else "ellipsis", no_wrap=not at)
    tones = block.tones or (Tone.PLAIN,) * len(block.rows)
    for row, tone in zip(block.rows, tones):
        table.add_row(*(RichText(printable(cell)) for cell in row), style=STYLES[tone])
    return table


def _notes(line: CodeLine) -> list[RichText]:
    indent = " " * (MARGIN_WIDTH + 12)
    return [RichText(f"{indent}{printable(note)}", style=STYLES[Tone.DIM]) for note in line.notes]


def render_code_line(line: CodeLine, digits: int = 4) -> RichText:
    """Return a line of code with its margin: `NaN ×12 ▶ 18 │ the code`."""
    said = RichText(f"{line.margin:>{MARGIN_WIDTH}} ", no_wrap=True, overflow="ellipsis")
    said.stylize(STYLES[line.tone])
    said.append(f"{'▶' if line.here else ' '}{line.number:>{digits}} │ ", style="bold" if line.here else "dim")
    return said.append(printable(line.text.expandtabs(4)), style="bold" if line.here else "")
