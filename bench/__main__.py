"""`python -m bench [ROW …]`: measure, show the table; a whole run is kept and written into README.md and docs/."""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench import tables
from bench.machine import Machine, this_machine
from bench.results import KEPT, LATEST, Run, load
from bench.row import Bench, Result, Row
from bench.rows import ROWS

WIDTH = 110
INTERRUPTED = 130


@click.command()
@click.argument("names", metavar="[ROW]...", nargs=-1, type=click.Choice([row.name for row in ROWS]))
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds of each row, in place of its own number.")
@click.option("--quick", is_flag=True, help="A fifth of the rounds: to see that it runs, not to quote.")
@click.option("--tables", "only_tables", is_flag=True, help="Measure nothing: write the tables of the kept run anew.")
def main(names: tuple[str, ...], rounds: int | None, quick: bool, only_tables: bool) -> None:
    """Measure ROWs (all of them when none is named) and show the table.

    A run of all rows with their own rounds replaces bench/results.json, and the tables of README.md and
    docs/performance.md are written from it. Any other run is only shown: rows of different runs are not mixed.
    build/bench.json has the latest run of any kind, also one that was interrupted.
    """
    console = Console(highlight=False)
    console.width = max(console.width, WIDTH)
    if only_tables:
        tables.write_pages(load(KEPT))
        return
    rows = [row for row in ROWS if not names or row.name in names]
    console.print("Looking at the machine …")
    session = Session(console, rows, this_machine(), rounds, quick)
    finished = session.run_all()
    if session.run.rows:
        session.show()
    is_whole = len(rows) == len(ROWS) and not quick and rounds is None
    session.close(finished, is_whole)
    sys.exit(0 if finished else INTERRUPTED)


@dataclass
class Session:
    """One run: what is measured, how far it got, what was seen so far."""

    console: Console
    rows: list[Row]
    machine: Machine
    rounds: int | None = None
    quick: bool = False
    run: Run = field(init=False)

    def __post_init__(self) -> None:
        self.run = Run(self.machine)

    def run_all(self) -> bool:
        """Measure row by row, keeping each at once; return False if Ctrl-C ended it."""
        self.console.print(str(self.machine))
        if self.machine.is_busy:
            self.console.print(f"[yellow]The machine is busy (load {self.machine.load:.1f}): figures will scatter.[/]")
        self.run.save(LATEST)
        try:
            for number, row in enumerate(self.rows, 1):
                self.run.rows[row.name] = self._measure(row, f"{number} of {len(self.rows)}, {row.name}")
                self.run.save(LATEST)
        except KeyboardInterrupt:
            return False
        return True

    def _measure(self, row: Row, title: str) -> Result:
        start = time.perf_counter()
        if not self.console.is_terminal:  # a log has no progress bar, so print at least the row that is being measured
            self.console.print(f"{title} …")
        scratch = tempfile.TemporaryDirectory(prefix="bench-", dir=LATEST.parent)
        with self.console.status(title) as status, scratch as folder:

            def progress(text: str) -> None:
                status.update(f"{title}: {text} ({time.perf_counter() - start:.0f} s)")

            result = row.run(Bench(Path(folder), progress, self.rounds, self.quick))
        self.console.print(f"{title}: {_seen(result)} ({result['seconds']:.0f} s)")
        for variant, why in result["failed"].items():
            self.console.print(f"  {variant} did not run: {why}", markup=False)
        return result

    def show(self) -> None:
        """Print the table of what was measured."""
        shown = Table("row", "bare", *tables.VARIANTS.values(), "must be", "met")
        for row in self.rows:
            if (result := self.run.rows.get(row.name)) is not None:
                limit = f"{'≥' if row.at_least else '≤'} {row.limit:g} {row.unit}"
                met = "[green]yes[/]" if row.is_met(result) else "[red]no[/]"
                shown.add_row(row.name, tables.bare(result), *_figures(result), limit, met)
        self.console.print(shown)
        for row in tables.missed(self.run):
            why = tables.reason(row, self.run.rows[row.name])
            self.console.print(f"{row.name} misses its limit: {why}", markup=False)

    def close(self, finished: bool, is_whole: bool) -> None:
        """Keep a run of all rows and write its tables into the pages; say where the numbers of any other are."""
        if finished and is_whole:
            self.run.save(KEPT)
            tables.write_pages(load(KEPT))
            self.console.print("Written: bench/results.json, README.md, docs/performance.md.")
            return
        ended = "" if finished else "Interrupted. "
        self.console.print(f"{ended}{len(self.run.rows)} of {len(ROWS)} rows are in build/bench.json.")
        self.console.print("README.md and docs/ are as they were: only a whole run goes there.")


def _seen(result: Result) -> str:
    figures = zip(tables.VARIANTS, tables.VARIANTS.values(), _figures(result))
    return ", ".join(f"{title} {figure}" for variant, title, figure in figures if variant in result)


def _figures(result: Result) -> list[str]:
    return [tables.figure(result, variant, digits=3) for variant in tables.VARIANTS]


if __name__ == "__main__":
    main(prog_name="python -m bench")
