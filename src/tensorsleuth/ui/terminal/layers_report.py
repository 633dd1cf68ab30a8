"""The report of `sleuth layers`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.text import Text

from tensorsleuth.analyze.layers.curves import LayerCurve, LayerOutputStats, ResidualGrowth
from tensorsleuth.core.formatting import UNKNOWN, cut_start, plural, printable, step_span
from tensorsleuth.ui.terminal.charts.cells import LogScale, draw_cells, short_number
from tensorsleuth.ui.terminal.charts.long_names import HeadedName, cut_middle, group_names

NUMBERS = ("mean", "std", "norm", "zeros", "dead")
WIDE_COLUMNS = {"shape": 15, "mean": 9, "std": 8, "norm": 8, "zeros": 7, "dead": 11}  # columns
NARROW_COLUMNS = {"shape": 11, "mean": 8, "std": 7, "norm": 7, "zeros": 6, "dead": 9}
NARROWEST_COLUMNS = {"norm": 7}
WIDE_TERMINAL, NARROW_TERMINAL = 100, 72  # columns; a wider terminal shows more, a narrower less
MIN_CELLS, MAX_CELLS = 11, 32
BAR_WIDTH = 16
SATURATED_SHARE = 0.9  # shares of the slope above this are lost: coloured
CELLS_TITLE = "over steps"
LINE_BREAK = "\n   "


def headline(layer_output_stats: Sequence[LayerOutputStats], gradients: int, updates: int) -> Text:
    text = Text.assemble((" LAYERS ", "bold reverse"), "  ", (plural(len(layer_output_stats), "output"), "bold"))
    text.append(f", {plural(gradients, 'gradient')}, {plural(updates, 'update')}")
    steps = [one.curve.steps for one in layer_output_stats if len(one.curve.steps)]
    if steps:
        first, last = min(int(one[0]) for one in steps), max(int(one[-1]) for one in steps)
        text.append(f" · {plural(max(map(len, steps)), 'sample')}, {step_span(first, last)}")
    return text


def outputs_table(layer_output_stats: Sequence[LayerOutputStats], width: int) -> Text:
    """Return the output of each layer at the sample, and its size over the steps."""
    curves = [one.curve for one in layer_output_stats]
    scale, cells, form = LogScale.for_curves(curves), _cell_count(curves, width), _column_widths(width)
    room = _name_width([one.name for one in layer_output_stats], width - sum(form.values()) - cells - 4)
    rows, before = group_names([one.name for one in layer_output_stats], room)
    text = Text(f" {'output':<{room}} ", "bold").append(f"{'shape':<{form['shape']}}" if "shape" in form else "")
    text.append("".join(f"{name:>{form[name]}}" for name in NUMBERS if name in form) + f"  {CELLS_TITLE}")
    for row, one in zip(rows, layer_output_stats, strict=True):
        _name(text, row, room, width)
        _numbers(text, one, form)
        draw_cells(text, one.curve, scale, cells)
    return _legend(text, scale, "Root mean square", before, width)


def _name(text: Text, headed_name: HeadedName, room: int, width: int) -> None:
    """Append a name, below a new heading if it begins a group."""
    if headed_name.heading is not None:
        text.append(f"\n {cut_middle(headed_name.heading, width - 2)}/", "not bold dim")
    text.append(f"\n {headed_name.name:<{room}} ", "not bold not dim")


def _legend(text: Text, log_scale: LogScale, what: str, before: str, width: int) -> Text:
    text.append("\n").append(log_scale.legend(what))
    return text.append(f"\n All are in {cut_middle(before, width - 13)}/", "not bold dim") if before else text


def _column_widths(width: int) -> dict[str, int]:
    return WIDE_COLUMNS if width >= WIDE_TERMINAL else NARROW_COLUMNS if width >= NARROW_TERMINAL else NARROWEST_COLUMNS


def _numbers(text: Text, one: LayerOutputStats, form: dict[str, int]) -> None:
    """Append the numbers of a layer, in their columns."""
    shape, digits = "×".join(map(str, one.shape)) or UNKNOWN, 3 if form is WIDE_COLUMNS else 2
    text.append(f"{cut_start(shape, form['shape'] - 1):<{form['shape']}}" if "shape" in form else "", "not bold")
    for name in ("mean", "std", "norm"):
        told = _number(getattr(one, name), one.bad, digits)
        text.append(f"{told:>{form[name]}}" if name in form else "", "not bold")
    zeros = f"{one.zeros:.0%}" if np.isfinite(one.zeros) else UNKNOWN
    text.append(f"{zeros:>{form['zeros']}}" if "zeros" in form else "", "not bold dim")
    told, style = _dead_units(one)
    text.append(f"{cut_start(told, form['dead']):>{form['dead']}}" if "dead" in form else "", style).append("  ")


def _number(number: float, bad: bool, digits: int = 3) -> str:
    """Format a number of the finite values; NaN if none was finite."""
    return "NaN" if bad and math.isnan(number) else short_number(number, digits)


def _dead_units(one: LayerOutputStats) -> tuple[str, str]:
    """Return a ReLU's number of dead units, or the lost share of a tanh's or sigmoid's slope."""
    if np.isfinite(one.saturated):
        return f"sat {one.saturated:.0%}", "bold red" if one.saturated > SATURATED_SHARE else "not bold dim"
    told = f"{one.dead:.0f}/{one.units:.0f}" if np.isfinite(one.units) else ""
    return told, "bold red" if 2 * one.dead > one.units else "not bold dim"


def growth_table(families: Sequence[ResidualGrowth], width: int) -> Text:
    """Return the growth of the signal from block to block."""
    text = Text(" From block to block, root mean square", "bold")
    for one in families:
        sizes = [short_number(size) for size in one.sizes]
        shown = " → ".join(sizes if len(sizes) <= 8 else [*sizes[:4], "…", *sizes[-3:]])
        times, name = (
            f"×{short_number(one.times)} from the first to the last",
            cut_middle(printable(one.family), width - 2),
        )
        together = len(name) + len(shown) + len(times) + 5 <= width
        text.append(f"\n {name}{'  ' if together else LINE_BREAK}{shown}", "not bold")
        text.append(f"{'  ' if together else LINE_BREAK}{times}", "not bold dim")
    return text


def gradients_table(layer_curves: Sequence[LayerCurve], step: int | None, width: int) -> Text:
    """Return the norms of gradients from the last layer to the first, as bars and over the steps."""
    return _bars(layer_curves, step, width, "gradient of", "norm", "Norm of a layer's gradients")


def updates_table(layer_curves: Sequence[LayerCurve], step: int | None, width: int) -> Text:
    """Return the change of each variable in a step, as a share of its norm."""
    return _bars(layer_curves, step, width, "variable", "update", "‖update‖ / ‖weight‖")


def _bars(
    layer_curves: Sequence[LayerCurve], step: int | None, width: int, title: str, number: str, legend: str
) -> Text:
    scale, cells = LogScale.for_curves(layer_curves), _cell_count(layer_curves, width)
    bar = BAR_WIDTH if width >= NARROW_TERMINAL else 0
    room = _name_width([title, *(one.name for one in layer_curves)], width - bar - cells - 15)
    rows, before = group_names([one.name for one in layer_curves], room)
    text = Text(f" {title:<{room}} {number:>8}  {'':<{bar}}  {CELLS_TITLE}", "bold")
    for row, one in zip(rows, layer_curves, strict=True):
        look = one.sample_nearest(step)
        value = float(one.numbers[look])
        length = 1 + round(scale.share(value) * (bar - 1)) if np.isfinite(value) and value > 0 else 0
        _name(text, row, room, width)
        text.append(f"{_number(value, bool(one.bad[look])):>8}  ", "not bold")
        text.append(f"{'█' * min(max(length, 0), bar):<{bar}}  ", "not bold cyan")
        draw_cells(text, one, scale, cells)
    return _legend(text, scale, legend, before, width)


def _cell_count(layer_curves: Sequence[LayerCurve], width: int) -> int:
    looks = max((len(one.steps) for one in layer_curves), default=1)
    return max(min(looks, MAX_CELLS, max(width - 100, MIN_CELLS)), len(CELLS_TITLE))


def _name_width(names: Sequence[str], most: int) -> int:
    return max(min(max(map(len, names), default=0), most), 8)
