"""The report of `sleuth memory`."""

from __future__ import annotations

import os
from pathlib import PurePath

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from tensorsleuth.analyze.memory.account import Group, Holding
from tensorsleuth.analyze.memory.report import Answer
from tensorsleuth.core.formatting import cut, of, printable, size

BLOCKS = " ▁▂▃▄▅▆▇█"
HEIGHT = 5  # rows of the curve
MOST_GROUPS, MOST_TENSORS = 8, 8
BAR, KIND = 10, 15
FIXED = BAR + 24  # columns of a table of groups, beside its names
TITLES = {"kind": "What for", "layer": "Layer", "line": "Line", "op": "Op", "dtype": "Type"}


def memory_report(answer: Answer, by: tuple[str, ...], width: int) -> RenderableType:
    """The curve, the moment in parts, and what was alive then: by kind, by layer, by line."""
    parts: list[RenderableType] = [_headline(answer), Text(), _curve(answer, width), Text(), _growth(answer)]
    for one in by:
        groups = answer.groups(one)
        if len(groups) > 1 or len(by) == 1 or one == "line":
            parts += [Text(), _groups(groups, one, width)]
    parts += [Text(), _tensors(answer.holdings, width)]
    if answer.lost:
        lost = f" {answer.lost:,} older rows were written over: what was made early may be missing."
        parts += [Text(), Text(lost, "dim")]
    return Lines(*parts)


def _headline(answer: Answer) -> Text:
    peak, limit = answer.peak_resident, answer.limit
    text = Text.assemble((" MEMORY ", "bold reverse"), "  ", (size(peak), "bold"), " resident at most")
    text.append(f" ({size(answer.peak_own)} without mapped files), {size(answer.start_resident)} at first")
    if limit:
        text.append(f"; the limit is {size(limit)}", "bold red" if peak > 0.9 * limit else "")
    return text


def _curve(answer: Answer, width: int) -> Text:
    """A column for each piece of time: tensors in full, the rest of resident memory pale."""
    label = 9
    curve = answer.curve(max(width - label - 2, 20))
    most, least = max(curve.resident), min(answer.start_resident, min(curve.resident))
    unit = max(most - least, 1) / (HEIGHT * 8)
    text = Text()
    for row in reversed(range(HEIGHT)):
        left = size(most) if row == HEIGHT - 1 else size(least) if row == 0 else ""
        text.append(f" {left:>{label - 2}} ", "dim")
        for resident, tensors in zip(curve.resident, curve.tensors, strict=True):
            text.append(*_cell((resident - least) / unit, min(tensors, resident - least) / unit, row))
        text.append("\n")
    end = f"{curve.seconds[-1]:.1f} s"
    mark = _mark(answer, len(curve.seconds))
    axis = f"{'':{mark}}▲ {answer.asked}"
    axis = axis if len(axis) + len(end) + 1 <= len(curve.seconds) else f"{answer.asked + ' ▲':>{mark + 1}}"
    text.append(" " * label + f"{axis:<{len(curve.seconds) - len(end)}}{end}", "dim")
    return text


def _mark(answer: Answer, columns: int) -> int:
    times = answer.account.samples["time"]
    share = (answer.time - int(times[0])) / max(int(times[-1]) - int(times[0]), 1)
    return min(int(share * columns), columns - 1)


def _cell(resident: float, tensors: float, row: int) -> tuple[str, str]:
    """The part of a column that lies in one row of text, and its colour."""
    of_tensors = min(max(round(tensors) - row * 8, 0), 8)
    of_all = min(max(round(resident) - row * 8, 0), 8)
    if of_tensors >= of_all or of_tensors > 4:
        return BLOCKS[max(of_tensors, min(of_all, 8) if of_tensors > 4 else of_tensors)], "cyan"
    return BLOCKS[of_all], "bright_black"


def _growth(answer: Answer) -> RenderableType:
    parts, step = answer.parts, f", step {answer.step}" if answer.step is not None else ""
    head = Text.assemble(" ", (f"At {answer.seconds:.1f} s", "bold"), f" ({answer.asked}{step}): ")
    head.append(f"{size(max(parts.growth, 0))} more than when recording began", "bold")
    lines = [
        (parts.tensors, "cyan", "tensors that were alive"),
        (parts.kept, "", "freed, and kept for later"),
        (parts.own, "", "Python and TensorFlow themselves: graphs, kernels, caches"),
        (parts.working, "", f"in use by ops that were running{_named(answer.running)}"),
        (parts.rest, "dim", "unattributed"),
    ]
    return Lines(head, *(_part(amount, parts.growth, style, what) for amount, style, what in lines))


def _named(running: list[str]) -> str:
    return f": {printable(', '.join(running[:2]))}" if running else ""


def _part(amount: int, growth: int, style: str, what: str) -> Text:
    share = f"{amount / growth:.0%}" if growth > 0 else ""
    return Text.assemble((f" {size(amount):>8}", style), (f" {share:>5}  ", "dim"), (what, style))


def _groups(groups: list[Group], by: str, width: int) -> Text:
    """Name, amount, a bar, how many, and the largest of them where there is room."""
    names = [_name(group.name, by) for group in groups[:MOST_GROUPS]]
    room = min(max(map(len, [*names, TITLES[by]]), default=0), max(width - FIXED - 22, 16))
    left = width - FIXED - room
    text = Text(f" {TITLES[by]:<{room}}   memory  {'':{BAR}}  tensors  largest", "bold")
    most = max((group.bytes for group in groups), default=1)
    for name, group in zip(names, groups, strict=False):
        text.append(f"\n {cut(name, room):<{room}} {size(group.bytes):>8}  ", "not bold")
        text.append(f"{'█' * max(round(BAR * group.bytes / most), 1):<{BAR}}", "not bold cyan")
        text.append(f"  {group.count:>7,}  {cut(_largest(group), left)}", "not bold dim")
    rest = groups[MOST_GROUPS:]
    if rest:
        amount = size(sum(one.bytes for one in rest))
        text.append(f"\n {cut(f'{len(rest):,} more', room):<{room}} {amount:>8}", "not bold dim")
    return text


def _largest(group: Group) -> str:
    shape = "×".join(map(str, group.largest.shape or ())) or "one number"
    return f"{printable(group.largest.name)} {shape}"


def _name(name: str, by: str) -> str:
    return printable(short_place(name) if by == "line" else name)


def short_place(place: str) -> str:
    """file.py:12 in its folder: as much of the path as tells files apart."""
    path = PurePath(place)
    return os.path.join(*path.parts[-2:]) if path.is_absolute() and len(path.parts) > 2 else place


def _tensors(holdings: list[Holding], width: int) -> Text:
    places = [printable(short_place(one.label.place or "")) for one in holdings[:MOST_TENSORS]]
    room = min(max(map(len, places), default=0), 30)
    left = width - room - KIND - 14
    text = Text(f" {'Largest of ' + of(len(holdings), 'tensor'):<{left}}   memory  {'what for':<{KIND}} line", "bold")
    for place, one in zip(places, holdings, strict=False):
        shape = "×".join(map(str, one.label.shape or ()))
        what = f" {one.label.dtype} {shape}"
        name = cut(printable(one.label.name), max(left - len(what), 8))
        text.append(f"\n {name + what:<{left}} {size(one.bytes):>8}  {one.label.kind:<{KIND}} ", "not bold")
        text.append(cut(place, room), "not bold dim")
    return text
