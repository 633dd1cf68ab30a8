"""The last activity of a program that ended or hangs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tensorsleuth.core.formatting import duration, plural, printable, size
from tensorsleuth.core.run_end import LiveTensor, MemoryAtEnd, RunEnd, RunningOp, ThreadStack
from tensorsleuth.ui.terminal.charts.sparkline import BARS

LABEL_WIDTH = 13  # columns for the longest label, Confidence
MAX_THREADS, MAX_FRAMES, MAX_TENSORS = 5, 6, 4  # the numbers shown
CURVE_WIDTH = 32  # columns


def last_activity(end: RunEnd) -> Iterator[RenderableType]:
    """Yield a few lines: threads, stack, last output, memory."""
    yield from _labelled(
        "Threads", [*map(_thread, end.doing[:MAX_THREADS]), *_more(len(end.doing) - MAX_THREADS, "thread")]
    )
    yield from _labelled("Stack", [_stack(stack) for stack in end.stacks[:2] if stack.frame is not None])
    yield from _labelled("Said", end.said)
    if end.memory is not None:
        yield from _memory(end.memory)


def harmless_end(end: RunEnd) -> str | None:
    """Return how it ended, if it was no problem and not by itself: `stopped by SIGTERM at step 12`."""
    at = f" at {end.when}" if end.when else ""
    if end.kind == "stopped":
        return f"stopped by {end.signal}{at}"
    return f"with exit code {end.exit}{at}" if end.kind == "exit" else None


def hang_report(end: RunEnd | None, quiet: float, busy: float) -> RenderableType:
    """Return the report on a program that still runs but seems to hang."""
    how = "It waits" if busy < 0.05 else "It computes"
    when = f" at {end.when}" if end is not None and end.when else ""
    first = Text(" sleuth", style="bold")
    first.append(f"  nothing has happened for {duration(quiet)}{when}. {how} ({busy:.0%} of a core).", style="not bold")
    parts: list[RenderableType] = [first]
    if end is not None:
        parts += _labelled("Threads", [_thread(one) for one in end.doing[:MAX_THREADS]])
        parts += _labelled("Stack", [_stack(stack) for stack in end.stacks[:MAX_THREADS] if stack.frame is not None])
    return Group(
        *parts,
        Text("   It keeps running. End it with Ctrl-C (Ctrl-\\ inside an op) to see where it hung.", style="dim"),
    )


def _labelled(label: str, lines: Sequence[str]) -> list[RenderableType]:
    if not lines:
        return []
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=LABEL_WIDTH)
    for number, line in enumerate(lines):
        table.add_row(Text("" if number else f"   {label}", style="bold"), Text(printable(line)))
    return [table]


def _thread(one: RunningOp) -> str:
    """Return a line such as `main thread: train.py:31 Fill, for 0.3 s`."""
    inner = one.innermost
    layer = f", layer {inner.layer}" if inner.layer else ""
    makes = f" → {inner.makes}" if inner.makes else ""
    around = f", in {one.op} ({_line(one)})" if inner is not one else ""
    since = (
        ""
        if one.seconds is None
        else f", {duration(one.seconds)} before"
        if one.ended
        else f", for {duration(one.seconds)}"
    )
    last = "last " if one.ended else ""
    return f"{one.thread}: {last}{_line(inner)} {inner.op}{makes}{layer}{around}{since}"


def _line(one: RunningOp) -> str:
    return f"{os.path.basename(one.file)}:{one.line}" if one.file else "?"


def _stack(stack: ThreadStack) -> str:
    """Return the program's own lines, innermost first: `a.py:5 in crash ← a.py:13 in step`."""
    own = [frame for frame in stack.frames[stack.user :] if _is_user_file(frame.file)]
    said = [f"{os.path.basename(frame.file)}:{frame.line} in {frame.function}" for frame in own[:MAX_FRAMES]]
    inner = stack.frames[0]
    called = stack.user > 0 and stack.current and "/tensorflow/" not in inner.file
    below = f"{os.path.basename(inner.file)}:{inner.line} in {inner.function} ← " if called else ""
    return below + " ← ".join(said)


def _is_user_file(file: str) -> bool:
    return "-packages" not in file and not file.startswith("<frozen") and "/lib/python" not in file


def _memory(memory: MemoryAtEnd) -> Iterator[RenderableType]:
    said = [part for part in (_curve(memory), _bounds(memory)) if part]
    yield from _labelled("Memory", said)
    yield from _labelled("Fits", [memory.fits] if memory.fits else [])
    yield from _labelled("Largest", [_held(one) for one in memory.largest[:MAX_TENSORS]])
    yield from _labelled(
        "Oldest", [_held(one) for one in memory.oldest[:MAX_TENSORS] if one not in memory.largest[:MAX_TENSORS]]
    )


def _curve(memory: MemoryAtEnd) -> str:
    if len(memory.curve) < 2:
        return ""
    levels = [level for _, level in memory.curve]
    chosen = (
        [levels[at * (len(levels) - 1) // (CURVE_WIDTH - 1)] for at in range(CURVE_WIDTH)]
        if len(levels) > CURVE_WIDTH
        else levels
    )
    top = max(*levels, memory.limit or 0)
    bars = "".join(BARS[min(len(BARS) - 1, level * len(BARS) // max(top, 1))] for level in chosen)
    seconds = memory.curve[0][0] - memory.curve[-1][0]
    return f"{bars}  {size(levels[0])} → {size(levels[-1])} in {duration(seconds)}"


def _bounds(memory: MemoryAtEnd) -> str:
    peak = f"at most {size(memory.peak)} without mapped files" if memory.peak else ""
    limit = f"the container's limit is {size(memory.limit)}" if memory.limit else ""
    machine = f"the machine has {size(memory.machine)}" if memory.machine and not memory.limit else ""
    return ", ".join(part for part in (peak, limit, machine) if part)


def _held(one: LiveTensor) -> str:
    shape = f" {list(one.shape)}" if one.shape is not None else ""
    file, _, number = (one.line or "").rpartition(":")
    line = f", {os.path.basename(file)}:{number}" if one.line else ""
    age = f", {duration(one.seconds)} old" if one.seconds is not None else ""
    each = f"{one.count} × " if one.count > 1 else ""
    return f"{size(one.bytes):>6}  {each}{one.name} {one.dtype}{shape}{line}{age}"


def _more(number: int, thing: str) -> list[str]:
    return [f"and {plural(number, f'more {thing}')}"] if number > 0 else []
