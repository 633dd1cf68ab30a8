"""The tables of the zoo in docs/performance.md, written from the run that is kept in bench/zoo.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench import tables
from bench.machine import ROOT
from bench.zoo.harness import limits
from bench.zoo.harness.figures import CLOCKS, LONG, STEP, WHOLE, Figures
from bench.zoo.harness.results import Run, Zoo
from bench.zoo.harness.variants import AGAIN, BARE, SLEUTH, TITLES

PAGE = ROOT / "docs" / "performance.md"
NAME = "zoo"
NOT_YET = "No run is kept yet. `make bench-zoo` measures every program and writes the tables here.\n"
HEADINGS = {
    STEP: "A steady step, over the bare one: wall / CPU time",
    WHOLE: "The whole program, over the bare one: wall / CPU time",
    LONG: "A program of 20 s, computed from the two tables above: wall / CPU time",
}
PEAK_HEADING = "Peak resident memory, and the run on disk"


def text(zoo: Zoo) -> str:
    """Return the text between the marks: the tables of a run with oneDNN, and of one without."""
    if not zoo:
        return NOT_YET
    return "\n".join(_of_run(run, setting) for setting, run in zoo.items())


def write_page(zoo: Zoo) -> None:
    PAGE.write_text(tables.put(PAGE.read_text(), NAME, text(zoo)))


def _of_run(run: Run, setting: str) -> str:
    lines = [f"One run of `python -m bench.zoo`, oneDNN {setting}, on {run.machine}.", ""]
    for quantity, heading in HEADINGS.items():
        lines += [f"**{heading}**", "", *time_table(quantity, run.programs), ""]
    lines += [f"**{PEAK_HEADING}**", "", *peak_table(run.programs)]
    missed = limits.missed(run.programs)
    lines += ["", *(f"- {miss}" for miss in missed)] if missed else ["", "Every limit is kept."]
    failed = [f"- {_failure(name, *one)}" for name, f in run.programs.items() for one in f["failed"].items()]
    return tables._text([*lines, *failed])


def _failure(program: str, variant: str, error: str) -> str:
    return f"{program} fails under {TITLES.get(variant, variant)}: {error}"


def time_table(quantity: str, programs: Mapping[str, Figures]) -> list[str]:
    """Return the table of one quantity: a line for each program, their median, and the limits."""
    head = ["program", BARE, *TITLES.values()]
    lines = [[name, _bare(quantity, one), *_cells(quantity, one)] for name, one in programs.items()]
    middle = ["median", "", *(_median_cell(quantity, variant, programs) for variant in TITLES)]
    return tables._table(head, [*lines, middle, ["limit", "", *(_limit(quantity, variant) for variant in TITLES)]])


def _bare(quantity: str, figures: Figures) -> str:
    if BARE not in figures or quantity == LONG:
        return ""
    return " / ".join(_seconds(figures[BARE][quantity][clock]) for clock in CLOCKS)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.{1 if value >= 0.01 else 2}f} ms"


def _cells(quantity: str, figures: Figures) -> list[str]:
    return [_cell(quantity, variant, figures) for variant in TITLES]


def _cell(quantity: str, variant: str, figures: Figures) -> str:
    if variant in figures["failed"]:
        return "fails"
    if variant not in figures["variants"]:
        return "–"
    figure = figures["variants"][variant][quantity]
    if variant == AGAIN:
        return f"{pair(figure)} ({_range(figures['spread'][quantity])})"
    return _marked(pair(figure), figure, limits.EACH.get(quantity, {}).get(variant))


def _median_cell(quantity: str, variant: str, programs: Mapping[str, Figures]) -> str:
    figure = limits.medians(quantity, variant, programs)
    return _marked(pair(figure), figure, limits.MEDIAN.get(quantity, {}).get(variant)) if figure else "–"


def pair(figure: Mapping[str, float | None]) -> str:
    values = [figure.get(clock) for clock in CLOCKS]
    return " / ".join("?" if value is None else f"{value:.3f}" for value in values)


def _range(spread: Mapping[str, list[float]]) -> str:
    return " / ".join("–".join(f"{value:.2f}" for value in spread[clock]) for clock in CLOCKS if clock in spread)


def _marked(cell: str, figure: Mapping[str, float | None], limit: float | None) -> str:
    return cell if limit is None or limits.is_kept(figure, limit) else f"**{cell}**"


def _limit(quantity: str, variant: str) -> str:
    each, middle = (table.get(quantity, {}).get(variant) for table in (limits.EACH, limits.MEDIAN))
    said = [f"≤ {each:g}"] if each is not None else []
    return ", ".join([*said, f"median ≤ {middle:g}"] if middle is not None else said)


def peak_table(programs: Mapping[str, Figures]) -> list[str]:
    """Return the table of peak memory, with the size of each run on disk and the verdict of the default."""
    head = ["program", BARE, *TITLES.values(), "verdict"]
    lines = [
        [
            name,
            _megabytes(one[BARE]["peak"]) if BARE in one else "",
            *(peak_cell(v, one) for v in TITLES),
            _verdict(one),
        ]
        for name, one in programs.items()
    ]
    return tables._table(head, [*lines, ["limit", "", *(limits.peak_limit(variant) for variant in TITLES), ""]])


def peak_cell(variant: str, figures: Figures) -> str:
    if variant in figures["failed"]:
        return "fails"
    if variant not in figures["variants"]:
        return "–"
    measured = figures["variants"][variant]
    peak = f"{measured['peak'] / figures[BARE]['peak']:.3f} x"
    disk = f", {_megabytes(measured['disk'])} on disk" if measured["disk"] else ""
    return f"{peak if limits.peak_is_kept(variant, figures) else f'**{peak}**'}{disk}"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.{0 if value >= 1e7 else 1}f} MB"


def _verdict(figures: Figures) -> str:
    measured: list[dict[str, Any]] = [figures["variants"][v] for v in SLEUTH if v in figures["variants"]]
    return ", ".join(sorted({verdict.lower() for one in measured for verdict in one["verdicts"]})) or "–"
