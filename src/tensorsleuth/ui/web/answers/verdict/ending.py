"""The end of a program and its last activity, as `sleuth why` reports it, with the lines to look at."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.run_end import LiveTensor, MemoryAtEnd, RunEnd, RunningOp, ThreadStack
from tensorsleuth.ui.web.run.open_run import OpenRun

MAX_THREADS, MAX_STACKS, MAX_FRAMES, MAX_INNER_OPS = 20, 10, 40, 5  # the numbers reported


def end_json(opened: OpenRun, end: RunEnd | None) -> dict[str, Any] | None:
    """Return an Ending (web/src/api/types.ts)."""
    if end is None:
        return None
    plain = {name: getattr(end, name) for name in ("kind", "exit", "signal", "step", "when", "quiet")}
    return plain | {
        "doing": [_doing(opened, one) for one in end.doing[:MAX_THREADS]],
        "moreThreads": max(len(end.doing) - MAX_THREADS, 0),
        "stacks": [_stack(opened, one) for one in end.stacks[:MAX_STACKS]],
        "memory": _memory(opened, end.memory) if end.memory is not None else None,
        "said": list(end.said),
    }


def _doing(opened: OpenRun, one: RunningOp) -> dict[str, Any]:
    plain = {name: getattr(one, name) for name in ("thread", "op", "layer", "seconds", "ended", "makes", "bytes")}
    inside = [_doing(opened, inner) for inner in one.inside[:MAX_INNER_OPS]]
    return plain | {"place": opened.sources.place(one.file, one.line, one.function), "inside": inside}


def _stack(opened: OpenRun, stack: ThreadStack) -> dict[str, Any]:
    return {"current": stack.current, "frames": [_frame(opened, frame) for frame in stack.frames[:MAX_FRAMES]]}


def _frame(opened: OpenRun, frame: Frame) -> dict[str, Any]:
    """Return a Frame (web/src/api/types.ts)."""
    place = opened.sources.place(frame.file, frame.line, frame.function)
    return {"place": place, "path": frame.file, "user": place is not None} | {
        "line": frame.line,
        "function": frame.function,
    }


def _memory(opened: OpenRun, memory: MemoryAtEnd) -> dict[str, Any]:
    plain = {name: getattr(memory, name) for name in ("used", "peak", "limit", "machine")}
    curve = [[-before, size] for before, size in memory.curve]
    held = {name: [_held(opened, one) for one in getattr(memory, name)] for name in ("largest", "oldest")}
    return plain | {"curve": curve} | held


def _held(opened: OpenRun, one: LiveTensor) -> dict[str, Any]:
    file, _, line = (one.line or "").rpartition(":")
    place = opened.sources.place(file, int(line), None) if line.isdecimal() else None
    return asdict(one) | {"place": place}
