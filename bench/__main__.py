"""`python -m bench [ROW …]`: measure, print the table, keep the numbers in build/bench.json."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.row import Bench, Result, Row
from bench.rows import ROWS

OUT = Path("build/bench.json")
WIDTH = 110
COLUMNS = {"ours": "ours", "again": "bare again", "tfdbg2": "tfdbg2", "check_numerics": "check_numerics"}


@click.command()
@click.argument("names", metavar="[ROW]...", nargs=-1, type=click.Choice([row.name for row in ROWS]))
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds of each row, in place of its own number.")
@click.option("--quick", is_flag=True, help="A fifth of the rounds: to see that it runs, not to quote.")
def main(names: tuple[str, ...], rounds: int | None, quick: bool) -> None:
    """Measure ROWs (all of them when none is named), print the table, update build/bench.json."""
    console = Console(highlight=False)
    console.width = max(console.width, WIDTH)
    results = {}
    try:
        for row in (row for row in ROWS if not names or row.name in names):
            results[row.name] = measure(row, console, rounds, quick)
            keep({row.name: results[row.name]})
    finally:
        console.print(table(results))


def measure(row: Row, console: Console, rounds: int | None, quick: bool) -> Result:
    start = time.perf_counter()
    OUT.parent.mkdir(exist_ok=True)
    scratch = tempfile.TemporaryDirectory(prefix="bench-", dir=OUT.parent)
    with console.status(row.name) as status, scratch as folder:

        def progress(text: str) -> None:
            status.update(f"{row.name}: {text}")

        result = row.run(Bench(Path(folder), progress, rounds, quick))
    seen = ", ".join(f"{title} {figure(result, v)}" for v, title in COLUMNS.items() if v in result)
    console.print(f"{row.name}: {seen} ({time.perf_counter() - start:.0f} s)")
    for variant, why in result.get("failed", {}).items():
        console.print(f"  {variant} did not run: {why}", markup=False)
    return result


def keep(results: dict[str, Result]) -> None:
    """Add to what is there, so that one row can be measured again by itself."""
    before = json.loads(OUT.read_text()) if OUT.exists() else {}
    OUT.write_text(json.dumps(before | results, indent=2) + "\n")


def table(results: dict[str, Result]) -> Table:
    shown = Table("row", "bare", *COLUMNS.values(), "must be", "met")
    for name, result in results.items():
        sign = "≥" if next(row for row in ROWS if row.name == name).at_least else "≤"
        met = "[green]yes[/]" if result["met"] else "[red]no[/]"
        limit = f"{sign} {result['limit']:g} {result['unit']}"
        shown.add_row(name, bare(result), *(figure(result, c) for c in COLUMNS), limit, met)
    return shown


def bare(result: Result) -> str:
    if "bare_s" in result:
        return f"{1000 * result['bare_s']:.1f} ms"
    return f"{result['bare_mb']:.0f} MB" if "bare_mb" in result else ""


def figure(result: Result, variant: str) -> str:
    value = result.get(variant)
    return "–" if value is None else f"{value:.{0 if value >= 100 else 3}f} {result['unit']}"


if __name__ == "__main__":
    main(prog_name="python -m bench")
