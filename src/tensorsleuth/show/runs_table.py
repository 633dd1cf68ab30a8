"""The runs of a log directory as a table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import JustifyMethod, OverflowMethod
from rich.table import Table
from rich.text import Text

from tensorsleuth.show.amounts import UNKNOWN, age, printable, short_count, size
from tensorsleuth.show.summary import Summary

COLUMNS = ("run", "program", "age", "ended", "steps", "events", "size", "values")
RIGHT = ("age", "steps", "events", "size")
ALWAYS = ("run", "values")  # also in a terminal that is too narrow for the others
NARROW = 8  # the least that is shown of a program
ENOUGH = 72  # columns for all of them, where names are folded
OTHERS = 48  # columns that age, ended, steps, events, size, values and the gaps take


def runs_table(summaries: Sequence[Summary], now: float, width: int) -> Table:
    """One row a run. Names are never cut, for they are typed again; programs are, and what does not fit is left out."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    longest = max(len(summary.name) for summary in summaries)
    wide = width >= ENOUGH
    for name in COLUMNS:
        if wide or name in ALWAYS:
            room = max(NARROW, width - longest - OTHERS) if name == "program" else None
            justify: JustifyMethod = "right" if name in RIGHT else "left"
            folds = name == "run"
            overflow: OverflowMethod = "fold" if folds else "ellipsis"
            table.add_column(name, no_wrap=not folds, overflow=overflow, max_width=room, justify=justify)
    for summary in summaries:
        cells = zip(COLUMNS, _row(summary, now), strict=True)
        table.add_row(*(cell for name, cell in cells if wide or name in ALWAYS))
    return table


def values(summary: Summary) -> Text:
    """What can be said from the numbers alone; what they mean, masked or harmful, is for `sleuth why`."""
    if summary.bad is None or not summary.events:
        return Text(UNKNOWN)
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
    )
    return [*(Text(text) for text in texts), values(summary)]


def _short(program: str) -> str:
    """The program without its folder, which is the least telling part."""
    path, *rest = program.split(" ", 1)
    return " ".join([path.rsplit("/", 1)[-1], *rest])
