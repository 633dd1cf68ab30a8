"""The runs of a log directory as a table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tensorsleuth.show.amounts import UNKNOWN, age, printable, short_count, size
from tensorsleuth.show.summary import Summary

NARROW = 8  # the least that is shown of a program
OTHERS = 48  # columns that age, ended, steps, events, size, verdict and the gaps take


def runs_table(summaries: Sequence[Summary], now: float, width: int) -> Table:
    """One row a run. Names are never cut, for they are typed again; programs are, to fit the width."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    longest = max(len(summary.name) for summary in summaries)
    table.add_column("run", overflow="fold")
    table.add_column("program", no_wrap=True, overflow="ellipsis", max_width=max(NARROW, width - longest - OTHERS))
    table.add_column("age", no_wrap=True, justify="right")
    table.add_column("ended", no_wrap=True)
    for name in ("steps", "events", "size"):
        table.add_column(name, no_wrap=True, justify="right")
    table.add_column("verdict", no_wrap=True)
    for summary in summaries:
        table.add_row(*_row(summary, now))
    return table


def verdict(summary: Summary) -> Text:
    """What can be said from the numbers alone."""
    if summary.bad is None or not summary.events:
        return Text(UNKNOWN)
    broken = (
        f"{short_count(summary.violations)} violation{'s' * (summary.violations != 1)}" if summary.violations else ""
    )
    said = ", ".join(part for part in (f"{short_count(summary.bad)} bad" if summary.bad else "", broken) if part)
    return Text(said, "red") if said else Text("healthy", "green")


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
    return [*(Text(text) for text in texts), verdict(summary)]


def _short(program: str) -> str:
    """The program without its folder, which is the least telling part."""
    path, *rest = program.split(" ", 1)
    return " ".join([path.rsplit("/", 1)[-1], *rest])
