"""The runs of a log directory as a table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import JustifyMethod, OverflowMethod
from rich.table import Table
from rich.text import Text

from tensorsleuth.core.formatting import UNKNOWN, age, printable, short_count, size
from tensorsleuth.core.modes import DEFAULT_MODE, Mode
from tensorsleuth.ui.terminal.summary import Summary

COLUMNS = ("run", "program", "age", "ended", "steps", "events", "size", "mode", "values")
RIGHT = ("age", "steps", "events", "size")
ALWAYS = ("run", "values")  # also in a terminal that is too narrow for the others
NARROW = 8  # the least that is shown of a program
ENOUGH = 72  # columns for all of them, where names are folded
OTHERS = 40  # columns that age, ended, steps, events, size and the gaps take
LISTED = 3  # runs that are named under the table
SPACIOUS, MODE = 100, 16  # columns from which on there is one for the mode, and what it takes


def runs_table(summaries: Sequence[Summary], now: float, width: int) -> Table:
    """One row a run. Names are never cut, for they are typed again; programs are, and what does not fit is left out."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    longest = max(len(summary.name) for summary in summaries)
    names = _columns(width)
    said = max(len(values(summary)) for summary in summaries)
    others = OTHERS + max(said, len("values")) + (MODE if "mode" in names else 0)
    for name in names:
        room = max(NARROW, width - longest - others) if name == "program" else None
        justify: JustifyMethod = "right" if name in RIGHT else "left"
        folds = name == "run"
        overflow: OverflowMethod = "fold" if folds else "ellipsis"
        table.add_column(name, no_wrap=not folds, overflow=overflow, max_width=room, justify=justify)
    for summary in summaries:
        cells = dict(zip(COLUMNS, _row(summary, now), strict=True))
        table.add_row(*(cells[name] for name in names))
    if "mode" not in names:
        table.caption, table.caption_justify, table.caption_style = _unusual(summaries), "left", "dim"
    return table


def _unusual(summaries: Sequence[Summary]) -> str | None:
    """Return the runs whose mode is not the default, if there is no room for a column."""
    others = sorted({one.mode for one in summaries if one.mode is not None} - {DEFAULT_MODE})
    said = [f"{mode.name}: {_names([one.name for one in summaries if one.mode is mode])}" for mode in others]
    return printable(f"mode {DEFAULT_MODE.name}, but {'; '.join(said)}") if said else None


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _columns(width: int) -> list[str]:
    """Return the columns that fit."""
    if width < ENOUGH:
        return list(ALWAYS)
    return [name for name in COLUMNS if name != "mode" or width >= SPACIOUS]


def _mode(summary: Summary) -> str:
    return summary.mode.name if summary.mode is not None else UNKNOWN


def values(summary: Summary) -> Text:
    """Return the health from the numbers alone. Whether it is masked or harmful, `sleuth why` decides."""
    if summary.bad is None or not summary.events:
        return Text(UNKNOWN)
    if summary.mode in (Mode.NO_TENSOR, Mode.SHAPE) and not summary.violations:
        return Text("not recorded")
    broken = (
        f"{short_count(summary.violations)} violation{'s' * (summary.violations != 1)}" if summary.violations else ""
    )
    said = ", ".join(part for part in (f"{short_count(summary.bad)} bad" if summary.bad else "", broken) if part)
    return Text(said, "yellow") if said else Text("none bad")


def _row(summary: Summary, now: float) -> list[Text]:
    texts = (
        printable(summary.name),
        printable(_short(summary.program)),
        age(summary.started, now),
        printable(summary.ended),
        short_count(summary.steps),
        short_count(summary.events),
        size(summary.bytes),
        _mode(summary),
    )
    return [*(Text(text) for text in texts), values(summary)]


def _short(program: str) -> str:
    """The program without its folder, which is the least telling part."""
    path, *rest = program.split(" ", 1)
    return " ".join([path.rsplit("/", 1)[-1], *rest])
