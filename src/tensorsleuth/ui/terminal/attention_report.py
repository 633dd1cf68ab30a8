"""The report of `sleuth attention`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorsleuth.analyze.attention.remark import ERROR, Remark
from tensorsleuth.analyze.attention.summary import Summary
from tensorsleuth.core.formatting import UNKNOWN, cut, of, printable, span
from tensorsleuth.ui.terminal.charts.names import cut_apart, fitted
from tensorsleuth.ui.terminal.charts.sparkline import sparkline
from tensorsleuth.ui.terminal.memory_report import short_place

SHOWN = {"entropy": 2, "distance": 1, "sink": 2, "collapse": 2, "ahead": 2}  # statistic -> digits
MOST_HEADS = 48  # of all layers together; of more, a line a layer
NAME = 24
CURVE, MOVED = 12, 20  # columns of a number with its curve, and with how far it has moved
WIDE = 112  # columns from which there is room for how much each has moved
CRAMPED = 76  # below this there are no curves, nor how and where attention was seen


def attention_report(
    attentions: Sequence[Summary],
    remarks: Sequence[Remark],
    more: Sequence[RenderableType],
    head: int | None,
    width: int,
) -> RenderableType:
    """Return the report: remarks, and `more` of them; all attention; each head's numbers over the steps."""
    parts: list[RenderableType] = [_headline(attentions, remarks), Text(), *_remarks(remarks), *more]
    parts += [_all(attentions, width)]
    if is_by_layer(attentions, head):
        parts += [Text(), _numbers(attentions, width)]
        parts += [Text(" The mean of the heads of each layer.", "dim")]
    else:
        for one, title in zip(attentions, _titled(attentions, width), strict=True):
            parts += [Text(), _heads(one, title, head, width)]
    return Group(*parts)


def is_by_layer(attentions: Sequence[Summary], head: int | None) -> bool:
    """Return whether there are too many heads for a line each."""
    many = sum(1 if head is not None else one.heads for one in attentions)
    return many > MOST_HEADS and len(attentions) > 1


def _headline(attentions: Sequence[Summary], remarks: Sequence[Remark]) -> Text:
    heads, looks = sum(one.heads for one in attentions), max(len(one.steps) for one in attentions)
    first, last = attentions[0].steps[0], attentions[0].steps[-1]
    text = Text.assemble((" ATTENTION ", "bold reverse"), "  ", (of(len(attentions), "layer"), "bold"))
    text.append(f", {of(heads, 'head')} · {of(looks, 'sample')}, {span(first, last)}")
    if not attentions[0].trains:
        text.append(" · of what does not train")
    return text


def _remarks(remarks: Sequence[Remark]) -> list[RenderableType]:
    if not remarks:
        return [Text(" Nothing is remarkable about these heads.", "dim"), Text()]
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in remarks:
        mark = Text(" ✗", "bold red") if one.severity == ERROR else Text(" ·", "dim")
        said = Text.assemble((printable(one.layer), "bold"), f", {one.who}: {printable(one.words)}")
        table.add_row(mark, said.append(f" ({one.what})", "dim"))
    return [table, Text()]


def _all(attentions: Sequence[Summary], width: int) -> Text:
    names = [one.name for one in attentions]
    places = [printable(short_place(one.place)) if one.place else UNKNOWN for one in attentions]
    cramped = width < CRAMPED
    shown = fitted(names, min(max(map(len, names)), max(width - (24 if cramped else 52), 16)))
    room = max(map(len, [*shown.shown, "layer"]))
    text = Text(f" {'layer':<{room}}  heads  queries × keys", "bold").append("" if cramped else "  by      line")
    for name, place, one in zip(shown.shown, places, attentions, strict=True):
        text.append(f"\n {name:<{room}}  {one.heads:>5}  {f'{one.queries:,} × {one.keys:,}':>14}", "not bold")
        if not cramped:
            text.append(f"  {one.by:<6}  ", "not bold")
            text.append(cut(place, max(width - room - 35, 8)), "not bold dim")
    return _left_out(text, shown.left_out, width)


def _left_out(text: Text, sentence: str, width: int) -> Text:
    lines = wrap(sentence, width - 2, break_on_hyphens=False) if sentence else []
    return text.append("".join(f"\n {line}" for line in lines), "not bold dim")


def _titled(attentions: Sequence[Summary], width: int) -> list[Text]:
    whens = [f" at step {one.steps[one.look]}" for one in attentions]
    names = cut_apart([printable(one.name) for one in attentions], max(width - max(map(len, whens)) - 1, 8))
    return [Text.assemble(" ", (name, "bold"), when) for name, when in zip(names, whens, strict=True)]


def _heads(one: Summary, title: Text, head: int | None, width: int) -> Text:
    text = title.append("\n")
    text.append(_titles("head", 4, width), "bold")
    for at in range(one.heads) if head is None else [head]:
        text.append(f"\n {at:>4}")
        for name in _columns(4, width):
            _number(text, name, one.curves[name][:, at].tolist(), one.look, _room(name, 4, width))
    return text


def _numbers(attentions: Sequence[Summary], width: int) -> Text:
    """A line a layer: the mean of its heads."""
    room = NAME if width >= WIDE else 8
    text, names = Text(_titles("layer", room, width), "bold"), fitted([one.name for one in attentions], room)
    for shown, one in zip(names.shown, attentions, strict=True):
        text.append(f"\n {shown:<{room}}", "not bold")
        for name in _columns(room, width):
            _number(text, name, one.mean(name).tolist(), one.look, _room(name, room, width))
    return _left_out(text, names.left_out, width)


def _titles(first: str, room: int, width: int) -> str:
    columns = (f"  {name:<{_room(name, room, width)}}" for name in _columns(room, width))
    return f" {first:<{room}}" + "".join(columns).rstrip()


def _columns(first: int, width: int) -> list[str]:
    """The statistics for which there is room."""
    ends = accumulate(2 + _room(name, first, width) for name in SHOWN)
    return [name for name, end in zip(SHOWN, ends, strict=True) if 1 + first + end <= width]


def _room(name: str, first: int, width: int) -> int:
    """Return the width of a statistic: its number, a curve beside it, and its change."""
    return max(len(name), 5) if width < CRAMPED else MOVED if width >= WIDE and first < NAME else CURVE


def _number(text: Text, name: str, numbers: list[float], look: int, room: int) -> None:
    """The number at the look, its curve over all looks, and where there is room how far it has moved."""
    digits, now = SHOWN[name], numbers[look]
    told = f"{now:.{digits}f}" if math.isfinite(now) else UNKNOWN
    text.append(f"  {told:>5}".ljust(room + 2) if room < CURVE else f"  {told:>5} ", "not bold")
    text.append(f"{sparkline(numbers, 6):<6}" if room >= CURVE else "", "not bold cyan")
    if room == MOVED:
        moved = round(now - numbers[0], digits) + 0.0  # never -0.00
        text.append(f" {f'{moved:+.{digits}f}' if math.isfinite(moved) else '':<7}", "not bold dim")
