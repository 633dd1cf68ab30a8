"""Sums of time by what it was spent on: types of ops, layers, lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.analyze.profile.op_times import OpsRun
from tensorsleuth.analyze.profile.python_calls import Made
from tensorsleuth.analyze.profile.time_split import Split
from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.process_index import Asked


@dataclass(frozen=True)
class Spent:
    """An op of the program and the time that went into it."""

    op: Op
    kind: str  # op, eager, or unseen: what of a function was not looked at
    time: int  # nanoseconds
    count: int  # how often it ran


@dataclass(frozen=True)
class Line:
    """A row of a table: what the time went into, how much, and of what the most."""

    name: str
    time: int
    count: int
    most: str  # the type of the ops that took most of it
    file: str | None = None
    line: int | None = None
    text: str = ""  # of the line, in a table by lines


def spent(asked: Asked, made: Made, run: OpsRun, parts: Split, within: Callable[[Array], Array]) -> list[Spent]:
    """By op, of what began at a time that `within` has."""
    return [
        *_in_functions(asked, made, run, within),
        *_eager(asked, made, within),
        *_unseen(asked, made, parts, within),
    ]


def _in_functions(asked: Asked, made: Made, run: OpsRun, within: Callable[[Array], Array]) -> list[Spent]:
    at = np.flatnonzero(np.isin(run.call, made.call) & within(run.end))
    times = np.bincount(run.op[at], (run.end - run.begin)[at], len(asked.index.ops))
    counts = np.bincount(run.op[at], ~run.again[at], len(asked.index.ops))
    return [Spent(asked.index.ops[op], "op", int(times[op]), int(counts[op])) for op in np.flatnonzero(counts).tolist()]


def _eager(asked: Asked, made: Made, within: Callable[[Array], Array]) -> list[Spent]:
    at = np.flatnonzero(~made.function & (made.op >= 0) & within(made.begin))
    return _by_op(asked, made.op[at], (made.end - made.begin)[at], "eager")


def _unseen(asked: Asked, made: Made, parts: Split, within: Callable[[Array], Array]) -> list[Spent]:
    at = np.flatnonzero(made.function & (made.op >= 0) & within(made.begin))
    begins, ends = made.begin[at], made.end[at]
    return _by_op(asked, made.op[at], ends - begins - parts.seen.within(begins, ends), "unseen")


def _by_op(asked: Asked, ops: Array, times: Array, kind: str) -> list[Spent]:
    size = len(asked.index.ops)
    sums, counts = np.bincount(ops, times, size), np.bincount(ops, minlength=size)
    return [Spent(asked.index.ops[op], kind, int(sums[op]), int(counts[op])) for op in np.flatnonzero(counts).tolist()]


def _by_type(one: Spent) -> str:
    return f"{program_name(one.op.type)} (not recorded)" if one.kind == "unseen" else one.op.type


def _by_layer(one: Spent) -> str:
    return one.op.layer or "(no layer)"


def _by_line(one: Spent) -> str:
    return f"{one.op.file}:{one.op.line}" if one.op.file else "(no line)"


BY: dict[str, Callable[[Spent], str]] = {"op": _by_type, "layer": _by_layer, "line": _by_line}


def table(all_spent: list[Spent], by: str) -> list[Line]:
    """Summed up, the most time first."""
    groups: dict[str, list[Spent]] = defaultdict(list)
    for one in all_spent:
        groups[BY[by](one)].append(one)
    return sorted((_line(name, group) for name, group in groups.items()), key=lambda line: (-line.time, line.name))


def _line(name: str, group: list[Spent]) -> Line:
    top = max(group, key=lambda one: one.time)
    kinds: dict[str, int] = defaultdict(int)
    for one in group:
        kinds[_by_type(one)] += one.time
    return Line(
        name,
        sum(one.time for one in group),
        sum(one.count for one in group),
        max(kinds, key=lambda kind: kinds[kind]),
        top.op.file,
        top.op.line,
    )


def to_json(line: Line, whole: int, steps: int) -> dict[str, Any]:
    """As `sleuth profile --json` has it; `whole` is what all lines of the table add up to."""
    return {
        "name": line.name,
        "ms_per_step": line.time / 1e6 / max(steps, 1),
        "share": line.time / whole if whole else 0.0,
        "count": line.count,
        "mostly": line.most,
        "file": line.file,
        "line": line.line,
        "text": line.text,
    }
