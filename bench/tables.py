"""The tables of README.md and docs/performance.md, written from the one run that is kept in bench/results.json."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import wrap

from bench.machine import ROOT
from bench.results import Run
from bench.row import Result, Row
from bench.rows import ROWS

NOT_YET = "No run is kept yet. `make bench` measures every row and writes the table here.\n"
NOT_MEASURED, NO_REASON = "not in this run", "no reason is known yet"
VARIANTS = {"ours": "ours", "again": "bare again", "tfdbg2": "tfdbg2", "check_numerics": "check_numerics"}
PEERS = ("tfdbg2", "check_numerics")
WIDTH = 118
COMMANDS = {name: f"python -m bench.{name}" for name in ("account", "zoo")}  # what writes a table, else `make bench`

SHORT = {
    "transformer-full-health": "Transformer, a training step",
    "transformer-compiled": "the same, compiled by XLA",
    "transformer-flight": "the same, mode FLIGHT",
    "guard-transformer": "the same, `guard()` in place of a recording",
    "keras-cnn": "Keras `fit` of a small CNN, a batch",
    "eager-loop": "250 small eager ops",
    "guard-eager": "the same, `guard()` in place of a recording",
    "transformer-rss": "Transformer, peak memory",
    "bytes-an-event": "size on disk of an event",
    "open-million": "open 1,000,000 events, list the bad ones",
    "why-million": "the verdict on them",
}
"""Rows of README.md, in its words."""


def whole(run: Run | None) -> str:
    """Return the table of docs/performance.md: every row, and the reason under it for each that misses its limit."""
    if run is None:
        return NOT_YET
    lines = (_whole_line(row, run.rows.get(row.name)) for row in ROWS)
    table = _table(("row", "bare", *VARIANTS.values(), "limit", "met"), lines)
    return _text([f"One run of `make bench` on {run.machine}.", "", *table, *_reasons(run)])


def short(run: Run | None) -> str:
    """Return the table of README.md."""
    if run is None:
        return NOT_YET
    rows = [row for name in SHORT for row in ROWS if row.name == name]
    lines = (_short_line(row, run.rows.get(row.name)) for row in rows)
    head = ("what is measured", "bare", "tensorsleuth", "Debugger V2", "`check_numerics`")
    return _text([*_table(head, lines), "", f"One run of `make bench` on {run.machine}."])


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for text in lines for line in _wrapped(text))


def _wrapped(text: str) -> list[str]:
    """Break a line of prose; a line of a table has to stay one line."""
    if not text or text.startswith("|"):
        return [text]
    indent = "  " if text.startswith("- ") else ""
    return wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _whole_line(row: Row, result: Result | None) -> list[str]:
    limit = f"{'≥' if row.at_least else '≤'} {row.limit:g} {row.unit}"
    if result is None:
        return [row.name, NOT_MEASURED, *("" for _ in VARIANTS), limit, ""]
    figures = (figure(result, variant, digits=3) for variant in VARIANTS)
    return [row.name, bare(result), *figures, limit, "yes" if row.is_met(result) else "**no**"]


def _short_line(row: Row, result: Result | None) -> list[str]:
    if result is None:
        return [SHORT[row.name], NOT_MEASURED, "", "", ""]
    figures = (figure(result, variant, digits=2) for variant in ("ours", *PEERS))
    return [SHORT[row.name], bare(result) if row.unit == "x" else "", *figures]


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> list[str]:
    rows = [" | ".join(line) for line in (head, *lines)]
    rule = "|".join("---" for _ in rows[0].split(" | "))
    return [f"| {rows[0]} |", f"|{rule}|", *(f"| {row} |" for row in rows[1:])]


def _reasons(run: Run) -> list[str]:
    lines = [f"- **{row.name}** misses its limit: {reason(row, run.rows[row.name])}" for row in missed(run)]
    return ["", *lines] if lines else []


def missed(run: Run) -> list[Row]:
    """Return the rows of a run that miss their limit."""
    return [row for row in ROWS if row.name in run.rows and not row.is_met(run.rows[row.name])]


def reason(row: Row, result: Result) -> str:
    """Say why a row misses its limit: it broke, or what bench/rows.py knows of it."""
    broke = result.get("failed", {})
    text = broke.get("row") or broke.get("ours")
    return f"it could not be measured ({text})" if text else row.why or NO_REASON


def bare(result: Result) -> str:
    """Return what the bare program takes."""
    if "bare_s" in result:
        return f"{1000 * result['bare_s']:.1f} ms"
    return f"{result['bare_mb']:.0f} MB" if "bare_mb" in result else ""


def figure(result: Result, variant: str, digits: int) -> str:
    """Return what a variant was measured at, in the row's unit."""
    if variant in result.get("failed", {}):
        return "fails"
    value = result.get(variant)
    return "–" if value is None else f"{value:.{0 if value >= 100 else digits}f} {result['unit']}"


PAGES: dict[str, tuple[Path, Callable[[Run | None], str]]] = {
    "whole": (ROOT / "docs" / "performance.md", whole),
    "short": (ROOT / "README.md", short),
}
"""Each table by the name in its marks, the page that it stands in, and what writes it."""


def write_pages(run: Run | None) -> None:
    """Put the tables of a run into the pages."""
    for name, (page, table) in PAGES.items():
        page.write_text(put(page.read_text(), name, table(run)))


def put(page: str, name: str, table: str) -> str:
    """Return a page with another text between the marks of a table."""
    begin, end = marks(name)
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no place for the table {name}: it needs the lines {begin} and {end}")
    return f"{before}{begin}\n{table}{end}{after}"


def shown(page: str, name: str) -> str:
    """Return what stands between the marks of a table."""
    begin, end = (re.escape(mark) for mark in marks(name))
    found = re.search(rf"{begin}\n(.*?){end}", page, re.S)
    return found[1] if found else ""


def marks(name: str) -> tuple[str, str]:
    command = COMMANDS.get(name, "make bench")
    return f"<!-- {name} table: written by `{command}` -->", f"<!-- end of the {name} table -->"
