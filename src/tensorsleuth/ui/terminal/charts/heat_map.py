"""A matrix of weights as coloured blocks, with labels for its rows and columns."""

from __future__ import annotations

import numpy as np
from rich.text import Text

from tensorsleuth.analyze.attention.picture import Picture
from tensorsleuth.core.array import Array
from tensorsleuth.core.formatting import printable
from tensorsleuth.ui.terminal.charts.long_names import cut_middle

SHADES = " ·░▒▓█"  # for terminals without colours
COLOR_RAMP = ("color(236)", "color(60)", "color(61)", "color(31)", "color(36)", "color(71)", "color(148)", "color(226)")
MAX_ROWS = 64
BRIGHT_QUANTILE = 0.99
ROW_LABEL_WIDTH, COLUMN_LABEL_HEIGHT = 12, 8  # letters of a token, on the left and on top
MIN_NAME_WIDTH = 24  # letters of a layer's name that are always shown
TICK_CELLS = 10  # cells between two numbers on top


def heat_map(picture: Picture, width: int) -> Text:
    """Return a line for each query, or for each group of queries."""
    label = _label_width(picture)
    block = _block(picture.weights, width - label - 2)
    cells = shrink(picture.weights, block)
    cell = 2 if label + 2 + 2 * cells.shape[1] <= width else 1
    most = _brightest(cells)
    text = _title(picture, block, most, width)
    _columns(text, picture, cells.shape[1], block, cell, label)
    for at, row in enumerate(cells):
        text.append(f"\n {_name(picture.queries, at, block, picture.scale[0], label):>{label}} ", "dim")
        for number in row:
            text.append(*_cell(number, most, cell))
    return text


def shrink(weights: Array, block: int) -> Array:
    """Return blocks as one cell: the mean of rows, the sum of columns, so that rows still sum to one."""
    rows, columns = (np.arange(0, size, block) for size in weights.shape)
    many = np.diff(np.append(rows, len(weights)))[:, None]
    return np.asarray(np.add.reduceat(np.add.reduceat(weights, columns, 1), rows, 0) / many)


def _block(weights: Array, room: int) -> int:
    rows, columns = weights.shape
    return int(max(-(-columns // max(room, 1)), -(-rows // MAX_ROWS), 1))


def _brightest(cells: Array) -> float:
    """Return the largest weight but for a few: a causal model's first query has one key, and would darken the rest."""
    known = cells[np.isfinite(cells)]
    return float(np.quantile(known, BRIGHT_QUANTILE) or known.max()) if len(known) else 0.0


def _title(picture: Picture, block: int, most: float, width: int) -> Text:
    rows, columns = (block * size for size in picture.scale)
    said = (
        f" · head {picture.head} · sample {picture.sample} · step {picture.step} · {SHADES[-1]} is {most:.2g} or more"
    )
    put_together = f" · {rows} queries × {columns} keys in each cell" if max(rows, columns) > 1 else ""
    left = max(width - len(said) - len(put_together) - 1, MIN_NAME_WIDTH)
    text = Text.assemble(" ", (cut_middle(printable(picture.layer), left), "bold"), said)
    return text.append(put_together, "dim")


def _label_width(picture: Picture) -> int:
    if picture.queries is None:
        return len(str(len(picture.weights) * picture.scale[0]))
    return min(max(len(printable(token)) for token in picture.queries), ROW_LABEL_WIDTH)


def _name(tokens: tuple[str, ...] | None, at: int, block: int, scale: int, room: int) -> str:
    if tokens is None:
        return str(at * block * scale)
    token = printable(tokens[at * block])
    return token if len(token) <= room else token[: room - 1] + "…"


def _columns(text: Text, picture: Picture, many: int, block: int, cell: int, label: int) -> None:
    """Append numbers on top, or tokens written downwards."""
    if picture.keys is None:
        ticks = range(0, many, TICK_CELLS)
        line = "".join(f"{at * block * picture.scale[1]:<{TICK_CELLS * cell}}" for at in ticks)
        text.append(f"\n{'':{label + 2}}{line[: many * cell].rstrip()}", "dim")
        return
    names = [_name(picture.keys, at, block, 1, COLUMN_LABEL_HEIGHT) for at in range(many)]
    high = max(map(len, names))
    for row in range(high):
        letters = "".join(f"{name.rjust(high)[row]:<{cell}}" for name in names)
        text.append(f"\n{'':{label + 2}}{letters.rstrip()}", "dim")


def _cell(number: float, most: float, cell: int) -> tuple[str, str]:
    """Return a cell shaded by the square root of the weight, so that small weights show."""
    if not np.isfinite(number):
        return "×" * cell, "bold red"
    share = float(np.sqrt(min(max(number / most, 0.0), 1.0))) if most > 0 else 0.0
    shade = SHADES[min(int(np.ceil(share * (len(SHADES) - 1) - 0.25)), len(SHADES) - 1)] if share > 0.02 else SHADES[0]
    return shade * cell, COLOR_RAMP[min(int(share * len(COLOR_RAMP)), len(COLOR_RAMP) - 1)]
