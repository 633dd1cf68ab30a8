"""The report of `sleuth memory`."""

from __future__ import annotations

import os
from pathlib import PurePath

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from tensorsleuth.analyze.memory.account import Holding, HoldingGroup
from tensorsleuth.analyze.memory.report import MemoryReport
from tensorsleuth.core.formatting import cut_start, plural, printable, size

BLOCKS = " ▁▂▃▄▅▆▇█"
CURVE_HEIGHT = 5  # in rows
MAX_GROUPS, MAX_TENSORS = 8, 8
BAR_WIDTH, KIND_WIDTH = 10, 15
FIXED_WIDTH = BAR_WIDTH + 24  # columns of a table of groups, without the names
TITLES = {"kind": "What for", "layer": "Layer", "line": "Line", "op": "Op", "dtype": "Type"}


def memory_report(answer: MemoryReport, by: tuple[str, ...], width: int) -> RenderableType:
    """Return the curve, the parts of the memory at the chosen time, and the live tensors by kind, layer and line."""
    parts: list[RenderableType] = [_headline(answer), Text(), _curve(answer, width), Text(), _growth(answer)]
    for one in by:
        groups = answer.groups(one)
        if len(groups) > 1 or len(by) == 1 or one == "line":
            parts += [Text(), _groups(groups, one, width)]
    parts += [Text(), _tensors(answer.holdings, width)]
    if answer.lost:
        lost = f" {answer.lost:,} older rows were overwritten: early tensors may be missing."
        parts += [Text(), Text(lost, "dim")]
    return Lines(*parts)


def _headline(memory_report: MemoryReport) -> Text:
    peak, limit = memory_report.peak_resident, memory_report.limit
    text = Text.assemble((" MEMORY ", "bold reverse"), "  ", (size(peak), "bold"), " resident at most")
    text.append(
        f" ({size(memory_report.peak_own)} without mapped files), {size(memory_report.start_resident)} at first"
    )
    if limit:
        text.append(f"; the limit is {size(limit)}", "bold red" if peak > 0.9 * limit else "")
    return text


def _curve(memory_report: MemoryReport, width: int) -> Text:
    """Return one column for each interval of time: tensors in full colour, the rest of resident memory pale."""
    label = 9
    curve = memory_report.curve(max(width - label - 2, 20))
    most, least = max(curve.resident), min(memory_report.start_resident, min(curve.resident))
    unit = max(most - least, 1) / (CURVE_HEIGHT * 8)
    text = Text()
    for row in reversed(range(CURVE_HEIGHT)):
        left = size(most) if row == CURVE_HEIGHT - 1 else size(least) if row == 0 else ""
        text.append(f" {left:>{label - 2}} ", "dim")
        for resident, tensors in zip(curve.resident, curve.tensors, strict=True):
            text.append(*_cell((resident - least) / unit, min(tensors, resident - least) / unit, row))
        text.append("\n")
    end = f"{curve.seconds[-1]:.1f} s"
    mark = _mark(memory_report, len(curve.seconds))
    axis = f"{'':{mark}}▲ {memory_report.moment}"
    axis = axis if len(axis) + len(end) + 1 <= len(curve.seconds) else f"{memory_report.moment + ' ▲':>{mark + 1}}"
    text.append(" " * label + f"{axis:<{len(curve.seconds) - len(end)}}{end}", "dim")
    return text


def _mark(memory_report: MemoryReport, columns: int) -> int:
    times = memory_report.account.samples["time"]
    share = (memory_report.time - int(times[0])) / max(int(times[-1]) - int(times[0]), 1)
    return min(int(share * columns), columns - 1)


def _cell(resident: float, tensors: float, row: int) -> tuple[str, str]:
    """Return the part of a column in one row of text, and its colour."""
    of_tensors = min(max(round(tensors) - row * 8, 0), 8)
    of_all = min(max(round(resident) - row * 8, 0), 8)
    if of_tensors >= of_all or of_tensors > 4:
        return BLOCKS[max(of_tensors, min(of_all, 8) if of_tensors > 4 else of_tensors)], "cyan"
    return BLOCKS[of_all], "bright_black"


def _growth(memory_report: MemoryReport) -> RenderableType:
    parts, step = memory_report.parts, f", step {memory_report.step}" if memory_report.step is not None else ""
    head = Text.assemble(" ", (f"At {memory_report.seconds:.1f} s", "bold"), f" ({memory_report.moment}{step}): ")
    head.append(f"{size(max(parts.growth, 0))} more than when recording began", "bold")
    lines = [
        (parts.tensors, "cyan", "tensors that were alive"),
        (parts.kept, "", "freed, and kept for later"),
        (parts.own, "", "Python and TensorFlow themselves: graphs, kernels, caches"),
        (parts.working, "", f"in use by ops that were running{_running_ops(memory_report.running)}"),
        (parts.rest, "dim", "unattributed"),
    ]
    return Lines(head, *(_part(amount, parts.growth, style, what) for amount, style, what in lines))


def _running_ops(running: list[str]) -> str:
    return f": {printable(', '.join(running[:2]))}" if running else ""


def _part(amount: int, growth: int, style: str, what: str) -> Text:
    share = f"{amount / growth:.0%}" if growth > 0 else ""
    return Text.assemble((f" {size(amount):>8}", style), (f" {share:>5}  ", "dim"), (what, style))


def _groups(holding_groups: list[HoldingGroup], by: str, width: int) -> Text:
    """Return the name, size, bar and count of each group, and its largest tensor if there is room."""
    names = [_name(group.name, by) for group in holding_groups[:MAX_GROUPS]]
    room = min(max(map(len, [*names, TITLES[by]]), default=0), max(width - FIXED_WIDTH - 22, 16))
    left = width - FIXED_WIDTH - room
    text = Text(f" {TITLES[by]:<{room}}   memory  {'':{BAR_WIDTH}}  tensors  largest", "bold")
    most = max((group.bytes for group in holding_groups), default=1)
    for name, group in zip(names, holding_groups, strict=False):
        text.append(f"\n {cut_start(name, room):<{room}} {size(group.bytes):>8}  ", "not bold")
        text.append(f"{'█' * max(round(BAR_WIDTH * group.bytes / most), 1):<{BAR_WIDTH}}", "not bold cyan")
        text.append(f"  {group.count:>7,}  {cut_start(_largest(group), left)}", "not bold dim")
    rest = holding_groups[MAX_GROUPS:]
    if rest:
        amount = size(sum(one.bytes for one in rest))
        text.append(f"\n {cut_start(f'{len(rest):,} more', room):<{room}} {amount:>8}", "not bold dim")
    return text


def _largest(holding_group: HoldingGroup) -> str:
    shape = "×".join(map(str, holding_group.largest.shape or ())) or "one number"
    return f"{printable(holding_group.largest.name)} {shape}"


def _name(name: str, by: str) -> str:
    return printable(short_place(name) if by == "line" else name)


def short_place(place: str) -> str:
    """Return `file.py:12` with as much of its path as identifies the file."""
    path = PurePath(place)
    return os.path.join(*path.parts[-2:]) if path.is_absolute() and len(path.parts) > 2 else place


def _tensors(holdings: list[Holding], width: int) -> Text:
    places = [printable(short_place(one.label.place or "")) for one in holdings[:MAX_TENSORS]]
    room = min(max(map(len, places), default=0), 30)
    left = width - room - KIND_WIDTH - 14
    text = Text(
        f" {'Largest of ' + plural(len(holdings), 'tensor'):<{left}}   memory  {'what for':<{KIND_WIDTH}} line", "bold"
    )
    for place, one in zip(places, holdings, strict=False):
        shape = "×".join(map(str, one.label.shape or ()))
        what = f" {one.label.dtype} {shape}"
        name = cut_start(printable(one.label.name), max(left - len(what), 8))
        text.append(f"\n {name + what:<{left}} {size(one.bytes):>8}  {one.label.kind:<{KIND_WIDTH}} ", "not bold")
        text.append(cut_start(place, room), "not bold dim")
    return text
