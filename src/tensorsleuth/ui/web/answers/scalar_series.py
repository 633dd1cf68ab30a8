"""Single numbers that a program computes repeatedly, the loss before all others."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import DTypeKind, dtype_of
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.views import UNLIKELY_LOSSES
from tensorsleuth.trace.query.ops import ARGUMENT, Op
from tensorsleuth.ui.web.run.columns import column_values
from tensorsleuth.ui.web.run.open_run import OpenRun

MAX_SERIES = 200
_ASSIGNED = re.compile(r"^\s*(?:self\.)?(\w+)(?:\s*:[^=]+)?\s*[-+*/]?=[^=]")
_RETURNED = re.compile(r"^\s*return\b")
_LOSS = re.compile(r"(^|[/_\W])(loss|cost|objective|nll|elbo|\w*entropy|mse|mae)", re.IGNORECASE)


@dataclass(frozen=True)
class ScalarSeries:
    """An op whose output is a single number, and how often it ran."""

    op: Op
    label: str
    count: int
    loss_score: int  # how likely it is the loss


class ScalarFinder:
    """Finds such ops of a run by the first tensor of each."""

    def __init__(self, opened: OpenRun) -> None:
        self._opened = opened
        self._table = opened.table

    @cached_property
    def all(self) -> list[ScalarSeries]:
        """All of them, the likely loss first."""
        counts = np.bincount(self._table.op + 1, minlength=len(self._table.ops) + 1)[1:]
        found = [self._series(number, int(counts[number])) for number in self._numbers(counts)]
        return sorted(found, key=lambda one: (-one.loss_score, -one.count, one.op.process, -one.op.first_tensor))[
            :MAX_SERIES
        ]

    def _numbers(self, counts: Array) -> list[int]:
        """Return the numbers of ops with a single float output without axes that ran more than once."""
        ops = self._table.ops
        found = [number for number in np.flatnonzero(counts > 1).tolist() if ops[number].outputs == 1]
        firsts = self._table.first_places[found]
        numbers = self._table.column("dtype", firsts)
        floats = np.isin(numbers, [number for number in range(256) if dtype_of(number).kind is DTypeKind.FLOAT])
        ranged = self._table.flags[firsts] & EventFlag.RANGED != 0
        single = (column_values(self._table, "elements", firsts) == 1) & floats & ranged
        kept = (number for number, likely in zip(found, single.tolist(), strict=True) if likely)
        return [number for number in kept if ops[number].type != ARGUMENT and self._has_no_axes(number)]

    def _has_no_axes(self, number: int) -> bool:
        row = self._table.row(int(self._table.first_places[number]))
        return self._table.process_indexes[self._table.ops[number].process].process.shape_of(row) == ()

    def _series(self, number: int, count: int) -> ScalarSeries:
        op = self._table.ops[number]
        name = self._named.get(op)
        loss = bool(_LOSS.search(op.name) or _LOSS.search(op.layer or ""))
        likely = 4 * bool(name and _LOSS.search(name)) + 2 * loss + bool(name) + (count <= self._steps)
        unlikely = 8 * (op.differentiates is not None) + 4 * (op.type in UNLIKELY_LOSSES) + 4 * _is_optimizer(op)
        return ScalarSeries(op, self._label(op, name, loss), count, likely - unlikely)

    @cached_property
    def _steps(self) -> int:
        """Return the number of recorded steps."""
        return int(self._table.step.max(initial=0)) + 1

    def _label(self, op: Op, name: str | None, loss: bool) -> str:
        line = f"{os.path.basename(op.file)}:{op.line}" if op.file is not None else op.name
        return name or (op.layer or "loss" if loss else line)

    @cached_property
    def _named(self) -> dict[Op, str]:
        """The program's name of the last op's result in a line: a variable, or the function that returns it."""
        last: dict[tuple[int, str | None, str | None, int | None], Op] = {}
        for op in self._table.ops:
            if op.file is not None and op.differentiates is None:
                last[op.process, op.graph, op.file, op.line] = op
        named = ((op, self._name(op)) for op in last.values())
        return {op: name for op, name in named if name}

    def _name(self, op: Op) -> str | None:
        code = self._opened.sources.code(op.file, op.line)
        found = _ASSIGNED.match(code)
        return found[1] if found is not None else op.function if _RETURNED.match(code) else None


def _is_optimizer(op: Op) -> bool:
    return (op.layer or "").startswith("optimizer")
