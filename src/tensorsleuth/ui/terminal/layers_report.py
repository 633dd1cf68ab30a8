"""Layers over the steps, for people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.text import Text

from tensorsleuth.analyze.layers.curves import Curve, Growth, Output
from tensorsleuth.core.formatting import UNKNOWN, cut, of, printable, span
from tensorsleuth.ui.terminal.charts.cells import Scale, draw, figure
from tensorsleuth.ui.terminal.charts.names import Row, grouped, middle

NUMBERS = ("mean", "std", "norm", "zeros", "dead")
WIDE = {"shape": 15, "mean": 9, "std": 8, "norm": 8, "zeros": 7, "dead": 11}  # columns
NARROW = {"shape": 11, "mean": 8, "std": 7, "norm": 7, "zeros": 6, "dead": 9}
NARROWEST = {"norm": 7}
ROOMY, CRAMPED = 100, 72  # columns of the terminal: from here on more, below this less is shown
FEWEST_CELLS, MOST_CELLS = 11, 32
BAR = 16
FLAT = 0.9  # of the slope is lost: worth a colour
OVER = "over steps"
BELOW = "\n   "


def headline(outputs: Sequence[Output], gradients: int, updates: int) -> Text:
    text = Text.assemble((" LAYERS ", "bold reverse"), "  ", (of(len(outputs), "output"), "bold"))
    text.append(f", {of(gradients, 'gradient')}, {of(updates, 'update')}")
    steps = [one.curve.steps for one in outputs if len(one.curve.steps)]
    if steps:
        first, last = min(int(one[0]) for one in steps), max(int(one[-1]) for one in steps)
        text.append(f" · {of(max(map(len, steps)), 'sample')}, {span(first, last)}")
    return text


def leaving(outputs: Sequence[Output], width: int) -> Text:
    """Return the output of each layer at the sample, and its size over the steps."""
    curves = [one.curve for one in outputs]
    scale, cells, form = Scale.of(curves), _cells(curves, width), _form(width)
    room = _room([one.name for one in outputs], width - sum(form.values()) - cells - 4)
    rows, before = grouped([one.name for one in outputs], room)
    text = Text(f" {'output':<{room}} ", "bold").append(f"{'shape':<{form['shape']}}" if "shape" in form else "")
    text.append("".join(f"{name:>{form[name]}}" for name in NUMBERS if name in form) + f"  {OVER}")
    for row, one in zip(rows, outputs, strict=True):
        _name(text, row, room, width)
        _numbers(text, one, form)
        draw(text, one.curve, scale, cells)
    return _legend(text, scale, "Root mean square", before, width)


def _name(text: Text, row: Row, room: int, width: int) -> None:
    """Below its heading, where it begins a new group."""
    if row.heading is not None:
        text.append(f"\n {middle(row.heading, width - 2)}/", "not bold dim")
    text.append(f"\n {row.name:<{room}} ", "not bold not dim")


def _legend(text: Text, scale: Scale, what: str, before: str, width: int) -> Text:
    text.append("\n").append(scale.legend(what))
    return text.append(f"\n All are in {middle(before, width - 13)}/", "not bold dim") if before else text


def _form(width: int) -> dict[str, int]:
    return WIDE if width >= ROOMY else NARROW if width >= CRAMPED else NARROWEST


def _numbers(text: Text, one: Output, form: dict[str, int]) -> None:
    """Return the numbers of the form, in their columns."""
    shape, digits = "×".join(map(str, one.shape)) or UNKNOWN, 3 if form is WIDE else 2
    text.append(f"{cut(shape, form['shape'] - 1):<{form['shape']}}" if "shape" in form else "", "not bold")
    for name in ("mean", "std", "norm"):
        text.append(f"{figure(getattr(one, name), digits):>{form[name]}}" if name in form else "", "not bold")
    zeros = f"{one.zeros:.0%}" if np.isfinite(one.zeros) else UNKNOWN
    text.append(f"{zeros:>{form['zeros']}}" if "zeros" in form else "", "not bold dim")
    told, style = _resting(one)
    text.append(f"{cut(told, form['dead']):>{form['dead']}}" if "dead" in form else "", style).append("  ")


def _resting(one: Output) -> tuple[str, str]:
    """Units of a ReLU that are off; how much of the slope of a tanh or sigmoid is lost."""
    if np.isfinite(one.saturated):
        return f"sat {one.saturated:.0%}", "bold red" if one.saturated > FLAT else "not bold dim"
    told = f"{one.dead:.0f}/{one.units:.0f}" if np.isfinite(one.units) else ""
    return told, "bold red" if 2 * one.dead > one.units else "not bold dim"


def grown(families: Sequence[Growth], width: int) -> Text:
    """Return the growth of the signal from block to block."""
    text = Text(" From block to block, root mean square", "bold")
    for one in families:
        sizes = [figure(size) for size in one.sizes]
        shown = " → ".join(sizes if len(sizes) <= 8 else [*sizes[:4], "…", *sizes[-3:]])
        times, name = f"×{figure(one.times)} from the first to the last", middle(printable(one.family), width - 2)
        together = len(name) + len(shown) + len(times) + 5 <= width
        text.append(f"\n {name}{'  ' if together else BELOW}{shown}", "not bold")
        text.append(f"{'  ' if together else BELOW}{times}", "not bold dim")
    return text


def flowing(curves: Sequence[Curve], step: int | None, width: int) -> Text:
    """Norms of gradients from the last layer to the first, as bars and over the steps."""
    return _bars(curves, step, width, "gradient of", "norm", "Norm of a layer's gradients")


def moving(curves: Sequence[Curve], step: int | None, width: int) -> Text:
    """Return the change of each variable in a step, as a share of its norm."""
    return _bars(curves, step, width, "variable", "update", "‖update‖ / ‖weight‖")


def _bars(curves: Sequence[Curve], step: int | None, width: int, title: str, number: str, legend: str) -> Text:
    scale, cells = Scale.of(curves), _cells(curves, width)
    bar = BAR if width >= CRAMPED else 0
    room = _room([title, *(one.name for one in curves)], width - bar - cells - 15)
    rows, before = grouped([one.name for one in curves], room)
    text = Text(f" {title:<{room}} {number:>8}  {'':<{bar}}  {OVER}", "bold")
    for row, one in zip(rows, curves, strict=True):
        look = one.at(step)
        value = float(one.numbers[look])
        length = 1 + round(scale.share(value) * (bar - 1)) if np.isfinite(value) and value > 0 else 0
        _name(text, row, room, width)
        text.append(f"{figure(value):>8}  ", "not bold")
        text.append(f"{'█' * min(max(length, 0), bar):<{bar}}  ", "not bold cyan")
        draw(text, one, scale, cells)
    return _legend(text, scale, legend, before, width)


def _cells(curves: Sequence[Curve], width: int) -> int:
    looks = max((len(one.steps) for one in curves), default=1)
    return max(min(looks, MOST_CELLS, max(width - 100, FEWEST_CELLS)), len(OVER))


def _room(names: Sequence[str], most: int) -> int:
    return max(min(max(map(len, names), default=0), most), 8)
