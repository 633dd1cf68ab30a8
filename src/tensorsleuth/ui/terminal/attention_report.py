"""The report of `sleuth attention`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from textwrap import wrap

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorsleuth.analyze.attention.remark import ERROR, AttentionRemark
from tensorsleuth.analyze.attention.summary import AttentionSummary
from tensorsleuth.core.formatting import UNKNOWN, cut_start, plural, printable, step_span
from tensorsleuth.ui.terminal.charts.long_names import cut_distinct, fit_names
from tensorsleuth.ui.terminal.charts.sparkline import sparkline
from tensorsleuth.ui.terminal.memory_report import short_place

STATISTIC_DIGITS = {"entropy": 2, "distance": 1, "sink": 2, "collapse": 2, "ahead": 2}  # statistic -> digits
MAX_HEADS = 48  # in all layers together; with more heads, one line for each layer
NAME_WIDTH = 24
CURVE_WIDTH, CHANGE_WIDTH = 12, 20  # columns of a number with its curve, and with its change
WIDE_TERMINAL = 112  # columns; from this width on the changes are shown
NARROW_TERMINAL = 76  # columns; below this width, curves and the source of the weights are left out


def attention_report(
    attentions: Sequence[AttentionSummary],
    attention_remarks: Sequence[AttentionRemark],
    more: Sequence[RenderableType],
    head: int | None,
    width: int,
) -> RenderableType:
    """Return the report: remarks with `more` below them, all layers, the statistics of each head over the steps."""
    parts: list[RenderableType] = [
        _headline(attentions, attention_remarks),
        Text(),
        *_remarks(attention_remarks),
        *more,
    ]
    parts += [_layers_table(attentions, width)]
    if is_by_layer(attentions, head):
        parts += [Text(), _layer_means(attentions, width)]
        parts += [Text(" The mean of the heads of each layer.", "dim")]
    else:
        for one, title in zip(attentions, _layer_titles(attentions, width), strict=True):
            parts += [Text(), _heads(one, title, head, width)]
    return Group(*parts)


def is_by_layer(attentions: Sequence[AttentionSummary], head: int | None) -> bool:
    """Return whether there are too many heads for one line each."""
    many = sum(1 if head is not None else one.heads for one in attentions)
    return many > MAX_HEADS and len(attentions) > 1


def _headline(attentions: Sequence[AttentionSummary], attention_remarks: Sequence[AttentionRemark]) -> Text:
    heads, looks = sum(one.heads for one in attentions), max(len(one.steps) for one in attentions)
    first, last = attentions[0].steps[0], attentions[0].steps[-1]
    text = Text.assemble((" ATTENTION ", "bold reverse"), "  ", (plural(len(attentions), "layer"), "bold"))
    text.append(f", {plural(heads, 'head')} · {plural(looks, 'sample')}, {step_span(first, last)}")
    if not attentions[0].trains:
        text.append(" · of functions that do not train")
    return text


def _remarks(attention_remarks: Sequence[AttentionRemark]) -> list[RenderableType]:
    if not attention_remarks:
        return [Text(" These heads show nothing remarkable.", "dim"), Text()]
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in attention_remarks:
        mark = Text(" ✗", "bold red") if one.severity == ERROR else Text(" ·", "dim")
        said = Text.assemble((printable(one.layer), "bold"), f", {one.who}: {printable(one.words)}")
        table.add_row(mark, said.append(f" ({one.what})", "dim"))
    return [table, Text()]


def _layers_table(attentions: Sequence[AttentionSummary], width: int) -> Text:
    names = [one.name for one in attentions]
    places = [printable(short_place(one.place)) if one.place else UNKNOWN for one in attentions]
    cramped = width < NARROW_TERMINAL
    shown = fit_names(names, min(max(map(len, names)), max(width - (24 if cramped else 52), 16)))
    room = max(map(len, [*shown.shown, "layer"]))
    text = Text(f" {'layer':<{room}}  heads  queries × keys", "bold").append("" if cramped else "  by      line")
    for name, place, one in zip(shown.shown, places, attentions, strict=True):
        text.append(f"\n {name:<{room}}  {one.heads:>5}  {f'{one.queries:,} × {one.keys:,}':>14}", "not bold")
        if not cramped:
            text.append(f"  {one.by:<6}  ", "not bold")
            text.append(cut_start(place, max(width - room - 35, 8)), "not bold dim")
    return _left_out(text, shown.left_out, width)


def _left_out(text: Text, sentence: str, width: int) -> Text:
    lines = wrap(sentence, width - 2, break_on_hyphens=False) if sentence else []
    return text.append("".join(f"\n {line}" for line in lines), "not bold dim")


def _layer_titles(attentions: Sequence[AttentionSummary], width: int) -> list[Text]:
    whens = [f" at step {one.steps[one.sample_index]}" for one in attentions]
    names = cut_distinct([printable(one.name) for one in attentions], max(width - max(map(len, whens)) - 1, 8))
    return [Text.assemble(" ", (name, "bold"), when) for name, when in zip(names, whens, strict=True)]


def _heads(one: AttentionSummary, title: Text, head: int | None, width: int) -> Text:
    text = title.append("\n")
    text.append(_header("head", 4, width), "bold")
    for at in range(one.heads) if head is None else [head]:
        text.append(f"\n {at:>4}")
        for name in _columns(4, width):
            _number(text, name, one.curves[name][:, at].tolist(), one.sample_index, _column_width(name, 4, width))
    return text


def _layer_means(attentions: Sequence[AttentionSummary], width: int) -> Text:
    """Return one line for each layer with the mean of its heads."""
    room = NAME_WIDTH if width >= WIDE_TERMINAL else 8
    text, names = Text(_header("layer", room, width), "bold"), fit_names([one.name for one in attentions], room)
    for shown, one in zip(names.shown, attentions, strict=True):
        text.append(f"\n {shown:<{room}}", "not bold")
        for name in _columns(room, width):
            _number(text, name, one.mean(name).tolist(), one.sample_index, _column_width(name, room, width))
    return _left_out(text, names.left_out, width)


def _header(first: str, room: int, width: int) -> str:
    columns = (f"  {name:<{_column_width(name, room, width)}}" for name in _columns(room, width))
    return f" {first:<{room}}" + "".join(columns).rstrip()


def _columns(first: int, width: int) -> list[str]:
    """Return the statistics that fit into the width."""
    ends = accumulate(2 + _column_width(name, first, width) for name in STATISTIC_DIGITS)
    return [name for name, end in zip(STATISTIC_DIGITS, ends, strict=True) if 1 + first + end <= width]


def _column_width(name: str, first: int, width: int) -> int:
    """Return the width of a statistic: its number, a curve beside it, and its change."""
    return (
        max(len(name), 5)
        if width < NARROW_TERMINAL
        else CHANGE_WIDTH
        if width >= WIDE_TERMINAL and first < NAME_WIDTH
        else CURVE_WIDTH
    )


def _number(text: Text, name: str, numbers: list[float], look: int, room: int) -> None:
    """Append the number at a sample, its curve over all samples, and its change if there is room."""
    digits, now = STATISTIC_DIGITS[name], numbers[look]
    told = f"{now:.{digits}f}" if math.isfinite(now) else UNKNOWN
    text.append(f"  {told:>5}".ljust(room + 2) if room < CURVE_WIDTH else f"  {told:>5} ", "not bold")
    text.append(f"{sparkline(numbers, 6):<6}" if room >= CURVE_WIDTH else "", "not bold cyan")
    if room == CHANGE_WIDTH:
        moved = round(now - numbers[0], digits) + 0.0  # never -0.00
        text.append(f" {f'{moved:+.{digits}f}' if math.isfinite(moved) else '':<7}", "not bold dim")
