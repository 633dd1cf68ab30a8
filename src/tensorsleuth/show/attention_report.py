"""What was seen of attention, for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorsleuth.insight.remark import ERROR, Remark
from tensorsleuth.insight.summary import Summary
from tensorsleuth.show.amounts import UNKNOWN, cut, of, printable
from tensorsleuth.show.memory_report import short_place
from tensorsleuth.show.sparkline import sparkline

SHOWN = {"entropy": 2, "distance": 1, "sink": 2, "collapse": 2, "ahead": 2}  # statistic -> digits
MOST_HEADS = 48  # of all layers together; of more, a line a layer
NAME = 24
WIDE = 112  # columns from which there is room for how much each has moved


def attention_report(
    attentions: Sequence[Summary], remarks: Sequence[Remark], head: int | None, width: int
) -> RenderableType:
    """What is remarkable; all attention; the numbers of each head over the steps."""
    parts: list[RenderableType] = [_headline(attentions, remarks), Text(), *_remarks(remarks), _all(attentions, width)]
    many = sum(1 if head is not None else one.heads for one in attentions)
    if many > MOST_HEADS and len(attentions) > 1:
        parts += [Text(), _numbers(attentions, width)]
        parts += [Text(" The mean of its heads. Each head: sleuth attention --layer NAME", "dim")]
    else:
        for one in attentions:
            parts += [Text(), _heads(one, head, width)]
    return Group(*parts)


def _headline(attentions: Sequence[Summary], remarks: Sequence[Remark]) -> Text:
    heads, looks = sum(one.heads for one in attentions), max(len(one.steps) for one in attentions)
    first, last = attentions[0].steps[0], attentions[0].steps[-1]
    text = Text.assemble((" ATTENTION ", "bold reverse"), "  ", (of(len(attentions), "layer"), "bold"))
    text.append(f", {of(heads, 'head')} · {of(looks, 'look')}, steps {first} to {last}")
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
    names = [printable(one.name) for one in attentions]
    places = [printable(short_place(one.place)) if one.place else UNKNOWN for one in attentions]
    room = min(max(map(len, [*names, "layer"])), max(width - 52, 16))
    left = width - room - 35
    text = Text(f" {'layer':<{room}}  heads  queries × keys  {'by':<6}  line", "bold")
    for name, place, one in zip(names, places, attentions, strict=True):
        text.append(f"\n {cut(name, room):<{room}}  {one.heads:>5}  ", "not bold")
        text.append(f"{f'{one.queries:,} × {one.keys:,}':>14}  {one.by:<6}  ", "not bold")
        text.append(cut(place, max(left, 8)), "not bold dim")
    return text


def _heads(one: Summary, head: int | None, width: int) -> Text:
    text = Text.assemble(" ", (printable(one.name), "bold"), f" at step {one.steps[one.look]}\n")
    text.append(_titles("head", 4, width), "bold")
    for at in range(one.heads) if head is None else [head]:
        text.append(f"\n {at:>4}")
        for name in SHOWN:
            _number(text, name, one.curves[name][:, at].tolist(), one.look, width)
    return text


def _numbers(attentions: Sequence[Summary], width: int) -> Text:
    """A line a layer: the mean of its heads."""
    room = NAME if width >= WIDE else 8
    text = Text(_titles("layer", room, width), "bold")
    for one in attentions:
        text.append(f"\n {cut(printable(one.name), room):<{room}}", "not bold")
        for name in SHOWN:
            _number(text, name, one.mean(name).tolist(), one.look, width, room > 8)
    return text


def _titles(first: str, room: int, width: int) -> str:
    wide = width >= WIDE and room < NAME
    return f" {first:<{room}}" + "".join(f"  {name:<{_column(wide)}}" for name in SHOWN).rstrip()


def _column(wide: bool) -> int:
    return 20 if wide else 12


def _number(text: Text, name: str, numbers: list[float], look: int, width: int, narrow: bool = False) -> None:
    """The number at the look, its curve over all looks, and where there is room how far it has moved."""
    digits, now = SHOWN[name], numbers[look]
    text.append(f"  {f'{now:.{digits}f}' if math.isfinite(now) else UNKNOWN:>5} ", "not bold")
    text.append(f"{sparkline(numbers, 6):<6}", "not bold cyan")
    if width >= WIDE and not narrow:
        moved = round(now - numbers[0], digits) + 0.0  # never -0.00
        text.append(f" {f'{moved:+.{digits}f}' if math.isfinite(moved) else '':<7}", "not bold dim")
