"""Sums of time by op type, layer and line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.analyze.profile.op_times import OpRuns
from tensorsleuth.analyze.profile.python_calls import PythonCalls
from tensorsleuth.analyze.profile.time_split import TimeSplit
from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.process_index import ProcessIndex


@dataclass(frozen=True)
class OpCost:
    """An op of the program and the time that it took."""

    op: Op
    kind: str  # op, eager, or unseen: the unrecorded time of a function
    time: int  # nanoseconds
    count: int  # number of runs


@dataclass(frozen=True)
class TimeRow:
    """A row of a table: its name, its time, and its largest contributor."""

    name: str
    time: int
    count: int
    main_op: str  # the type of the ops with the most time
    file: str | None = None
    line: int | None = None
    text: str = ""  # the text of the line, in a table by lines


def op_costs(
    process_index: ProcessIndex,
    python_calls: PythonCalls,
    run: OpRuns,
    parts: TimeSplit,
    within: Callable[[Array], Array],
) -> list[OpCost]:
    """Return the cost of each op, of runs whose begin `within` accepts."""
    return [
        *_in_functions(process_index, python_calls, run, within),
        *_eager(process_index, python_calls, within),
        *_unseen(process_index, python_calls, parts, within),
    ]


def _in_functions(
    process_index: ProcessIndex, python_calls: PythonCalls, run: OpRuns, within: Callable[[Array], Array]
) -> list[OpCost]:
    at = np.flatnonzero(np.isin(run.call, python_calls.call) & within(run.end))
    times = np.bincount(run.op[at], (run.end - run.begin)[at], len(process_index.op_index.ops))
    counts = np.bincount(run.op[at], ~run.is_extra_output[at], len(process_index.op_index.ops))
    return [
        OpCost(process_index.op_index.ops[op], "op", int(times[op]), int(counts[op]))
        for op in np.flatnonzero(counts).tolist()
    ]


def _eager(process_index: ProcessIndex, python_calls: PythonCalls, within: Callable[[Array], Array]) -> list[OpCost]:
    at = np.flatnonzero(~python_calls.is_function & (python_calls.op >= 0) & within(python_calls.begin))
    return _by_op(process_index, python_calls.op[at], (python_calls.end - python_calls.begin)[at], "eager")


def _unseen(
    process_index: ProcessIndex, python_calls: PythonCalls, parts: TimeSplit, within: Callable[[Array], Array]
) -> list[OpCost]:
    at = np.flatnonzero(python_calls.is_function & (python_calls.op >= 0) & within(python_calls.begin))
    begins, ends = python_calls.begin[at], python_calls.end[at]
    return _by_op(
        process_index, python_calls.op[at], ends - begins - parts.recorded.covered_time(begins, ends), "unseen"
    )


def _by_op(process_index: ProcessIndex, ops: Array, times: Array, kind: str) -> list[OpCost]:
    size = len(process_index.op_index.ops)
    sums, counts = np.bincount(ops, times, size), np.bincount(ops, minlength=size)
    return [
        OpCost(process_index.op_index.ops[op], kind, int(sums[op]), int(counts[op]))
        for op in np.flatnonzero(counts).tolist()
    ]


def _by_type(one: OpCost) -> str:
    return f"{program_name(one.op.type)} (not recorded)" if one.kind == "unseen" else one.op.type


def _by_layer(one: OpCost) -> str:
    return one.op.layer or "(no layer)"


def _by_line(one: OpCost) -> str:
    return f"{one.op.file}:{one.op.line}" if one.op.file else "(no line)"


TABLE_KEYS: dict[str, Callable[[OpCost], str]] = {"op": _by_type, "layer": _by_layer, "line": _by_line}


def time_table(all_spent: list[OpCost], by: str) -> list[TimeRow]:
    """Return the rows of a table, the most time first."""
    groups: dict[str, list[OpCost]] = defaultdict(list)
    for one in all_spent:
        groups[TABLE_KEYS[by](one)].append(one)
    return sorted((_line(name, group) for name, group in groups.items()), key=lambda line: (-line.time, line.name))


def _line(name: str, group: list[OpCost]) -> TimeRow:
    top = max(group, key=lambda one: one.time)
    kinds: dict[str, int] = defaultdict(int)
    for one in group:
        kinds[_by_type(one)] += one.time
    return TimeRow(
        name,
        sum(one.time for one in group),
        sum(one.count for one in group),
        max(kinds, key=lambda kind: kinds[kind]),
        top.op.file,
        top.op.line,
    )


def row_to_json(time_row: TimeRow, whole: int, steps: int) -> dict[str, Any]:
    """Return the fields of `sleuth profile --json`; `whole` is the sum of all rows of the table."""
    return {
        "name": time_row.name,
        "ms_per_step": time_row.time / 1e6 / max(steps, 1),
        "share": time_row.time / whole if whole else 0.0,
        "count": time_row.count,
        "mostly": time_row.main_op,
        "file": time_row.file,
        "line": time_row.line,
        "text": time_row.text,
    }
