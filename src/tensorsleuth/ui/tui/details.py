"""The details of one tensor: health bar, statistics, time and place."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from tensorsleuth.core.formatting import printable, short_count
from tensorsleuth.ui.debugger.tensor_description import VALUE_KINDS, TensorDescription

# Each has a letter as well, for terminals without colours.
BAR_CELLS = {
    "neg": ("−", "blue"),
    "zero": ("0", "bright_black"),
    "pos": ("+", "green"),
    "neg_inf": ("◀", "yellow"),
    "pos_inf": ("▶", "yellow"),
    "nan": ("N", "red"),
}
COUNT_LABELS = {"neg": "−", "zero": "0", "pos": "+", "neg_inf": "−∞", "pos_inf": "+∞", "nan": "NaN"}


def details(one: TensorDescription, width: int) -> Text:
    """Return the lines of the pane."""
    lines = [_title(one), _kind(one)]
    if one.counts is None:
        return Text("\n").join([*lines, Text(printable(one.health), style="bold red" if one.bad else "")])
    return Text("\n").join([*lines, _legend(one.counts), health_bar(one.counts, width), _range(one, width)])


def _title(one: TensorDescription) -> Text:
    said = Text(printable(one.op), style="bold")
    grad = f"  gradient of {one.differentiates}" if one.differentiates else ""
    layer = f"  in {one.layer}" if one.layer else ""
    return said.append(printable(grad + layer), style="not bold")


def _kind(one: TensorDescription) -> Text:
    parts = (one.kind, one.when, one.line)
    return Text(printable(" · ".join(part for part in parts if part)), style="cyan")


def _range(one: TensorDescription, width: int) -> Text:
    """Return a line such as `finite -87.13 … -5.96e-08, mean -22.6  std 27, first bad: row 10`."""
    known = dict(one.statistics)
    said = Text("none is finite")
    if known:
        said = Text(f"{'finite' if one.bad else 'range'} {known['min']:.4g} … {known['max']:.4g}")
    further = "  ".join(f"{name} {known[name]:.3g}" for name in ("mean", "std") if name in known)
    said.append(("  " if said.cell_len + len(further) + 2 <= width else "\n") * bool(further) + further)
    return said.append(f"\nfirst bad: {one.first_bad}" if one.first_bad else "", style="bold red")


def health_bar(counts: tuple[int, ...], width: int) -> Text:
    """Return a bar with as many cells of each kind as its share of the elements, at least one for each kind present."""
    said = Text()
    for name, cells in zip(VALUE_KINDS, cells_per_count(counts, width)):
        letter, colour = BAR_CELLS[name]
        said.append(letter * cells, style=f"bold white on {colour}")
    return said


def cells_per_count(counts: tuple[int, ...], width: int) -> list[int]:
    """Return the cells for each count: proportional, at least one for each, `width` in all."""
    total = sum(counts)
    present = [at for at, count in enumerate(counts) if count]
    if not total or width < len(present):
        return [0] * len(counts)
    cells = [max(1, count * width // total) if count else 0 for count in counts]
    while sum(cells) != width:
        largest = max(present, key=lambda at: cells[at])
        cells[largest] += 1 if sum(cells) < width else -1
    return cells


def _legend(counts: tuple[int, ...]) -> Text:
    said = Text()
    for name, count in zip(VALUE_KINDS, counts):
        _, colour = BAR_CELLS[name]
        style = f"bold {colour}" if count else "dim"
        said.append(f"{COUNT_LABELS[name]} ", style=style).append(
            f"{short_count(count)}  ", style="" if count else "dim"
        )
    return said


class Details(Static):
    """The pane with the details of a tensor."""

    described: TensorDescription | None = None

    def show(self, one: TensorDescription) -> None:
        self.described = one
        self.border_title = printable(one.name).replace("[", r"\[")
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if self.described is not None:
            self.update(details(self.described, max(10, self.content_size.width)))
