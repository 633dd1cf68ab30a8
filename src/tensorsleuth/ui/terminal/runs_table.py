"""The runs of a log directory as a table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import JustifyMethod, OverflowMethod
from rich.table import Table
from rich.text import Text

from tensorsleuth.core.formatting import UNKNOWN, age, printable, short_count, size
from tensorsleuth.core.modes import DEFAULT_MODE, Mode
from tensorsleuth.ui.terminal.run_statistics import RunStatistics

COLUMNS = ("run", "program", "age", "ended", "steps", "events", "size", "mode", "values")
RIGHT_ALIGNED = ("age", "steps", "events", "size")
ESSENTIAL_COLUMNS = ("run", "values")  # shown even in a narrow terminal
MIN_PROGRAM_WIDTH = 8  # letters of a program that are always shown
MIN_WIDTH_FOR_ALL = 72  # columns; if there are fewer, some columns are left out
FIXED_WIDTH = 40  # width of age, ended, steps, events, size and the gaps
MAX_NAMED_RUNS = 3  # under the table
MIN_WIDTH_FOR_MODE, MODE_WIDTH = 100, 16  # from the first width on, the mode has a column; the second is its width


def runs_table(run_statistics: Sequence[RunStatistics], now: float, width: int) -> Table:
    """Return one row for each run. Names are never cut, since users type them; programs and columns may be."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    longest = max(len(summary.name) for summary in run_statistics)
    names = _columns(width)
    said = max(len(value_health(summary)) for summary in run_statistics)
    others = FIXED_WIDTH + max(said, len("values")) + (MODE_WIDTH if "mode" in names else 0)
    for name in names:
        room = max(MIN_PROGRAM_WIDTH, width - longest - others) if name == "program" else None
        justify: JustifyMethod = "right" if name in RIGHT_ALIGNED else "left"
        folds = name == "run"
        overflow: OverflowMethod = "fold" if folds else "ellipsis"
        table.add_column(name, no_wrap=not folds, overflow=overflow, max_width=room, justify=justify)
    for summary in run_statistics:
        cells = dict(zip(COLUMNS, _row(summary, now), strict=True))
        table.add_row(*(cells[name] for name in names))
    if "mode" not in names:
        table.caption, table.caption_justify, table.caption_style = _modes_caption(run_statistics), "left", "dim"
    return table


def _modes_caption(run_statistics: Sequence[RunStatistics]) -> str | None:
    """Return a caption with the runs in another than the default mode, if the mode has no column."""
    others = sorted({one.mode for one in run_statistics if one.mode is not None} - {DEFAULT_MODE})
    said = [f"{mode.name}: {_names([one.name for one in run_statistics if one.mode is mode])}" for mode in others]
    return printable(f"mode {DEFAULT_MODE.name}, but {'; '.join(said)}") if said else None


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED_RUNS} more" if len(names) > MAX_NAMED_RUNS else ""
    return ", ".join(names[:MAX_NAMED_RUNS]) + more


def _columns(width: int) -> list[str]:
    """Return the columns that fit."""
    if width < MIN_WIDTH_FOR_ALL:
        return list(ESSENTIAL_COLUMNS)
    return [name for name in COLUMNS if name != "mode" or width >= MIN_WIDTH_FOR_MODE]


def _mode(run_statistics: RunStatistics) -> str:
    return run_statistics.mode.name if run_statistics.mode is not None else UNKNOWN


def value_health(run_statistics: RunStatistics) -> Text:
    """Return the health from the numbers alone. Whether it is masked or harmful, `sleuth why` decides."""
    if run_statistics.bad is None or not run_statistics.events:
        return Text(UNKNOWN)
    if run_statistics.mode in (Mode.NO_TENSOR, Mode.SHAPE) and not run_statistics.violations:
        return Text("not recorded")
    broken = (
        f"{short_count(run_statistics.violations)} violation{'s' * (run_statistics.violations != 1)}"
        if run_statistics.violations
        else ""
    )
    said = ", ".join(
        part for part in (f"{short_count(run_statistics.bad)} bad" if run_statistics.bad else "", broken) if part
    )
    return Text(said, "yellow") if said else Text("none bad")


def _row(run_statistics: RunStatistics, now: float) -> list[Text]:
    texts = (
        printable(run_statistics.name),
        printable(_short(run_statistics.program)),
        age(run_statistics.started, now),
        printable(run_statistics.ended),
        short_count(run_statistics.steps),
        short_count(run_statistics.events),
        size(run_statistics.bytes),
        _mode(run_statistics),
    )
    return [*(Text(text) for text in texts), value_health(run_statistics)]


def _short(program: str) -> str:
    """Return the program without its folder, which says least."""
    path, *rest = program.split(" ", 1)
    return " ".join([path.rsplit("/", 1)[-1], *rest])
