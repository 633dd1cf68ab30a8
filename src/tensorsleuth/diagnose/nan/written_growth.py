"""Weights of eager code whose values have no rows, because the ops that take them read them: growth, from the updates.

TensorFlow 2.15 works so. What a line writes is known: an amount that is added grows as fast as the weights do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.ops.kinds import AMOUNT_WRITES, writes_variables
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.diagnose.nan.history import ValueGrowth, growth_of
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.dataflow.variables import VariableWrite
from tensorsleuth.trace.process.process import ProcessTrace

MAX_OPS = 500  # between a variable and what went bad
MAX_WRITES = 400  # of a variable, the last ones


def variables_taken(case: Case) -> Iterator[int]:
    """Yield the variables that ops of eager code took themselves, on the way to what went bad."""
    graphs, written = case.finder.call_graphs, _written_handles(case.process)
    calls, seen = [case.out.call] if case.out.tensor.eager is not None else [], set[int]()
    known: set[int] = set()
    while calls and len(seen) < MAX_OPS:
        call = calls.pop(0)
        if call in seen or call < 0:
            continue
        seen.add(call)
        for uid in graphs.calls.inputs(call):
            made = graphs.by_uid(uid)
            if uid in written:
                if uid not in known:
                    known.add(uid)
                    yield uid
            elif made is not None and made.tensor.eager is not None:
                calls.append(made.call)


def _written_handles(process: ProcessTrace) -> set[int]:
    """Return the variables that eager code wrote. One that is older than the recording has no row of its own."""
    writers = [op.id for op in process.catalogue.eager.values() if writes_variables(op.type)]
    calls = process.calls
    return {*calls["inputs"][np.isin(calls["op"], writers) & (calls["inputs_count"] > 0), 0].tolist()}


@dataclass(frozen=True)
class WrittenGrowth:
    """The growth of what was written to a variable."""

    growth: ValueGrowth
    last: ObservedTensor
    is_amount: bool  # that was added to the variable, and not its new value


def written_growth(case: Case, handle: int) -> WrittenGrowth | None:
    """Return how the amounts grew that were added to a variable, or the values that it was set to."""
    writes = _writes_before(case, handle)
    added = [write for write in writes if write.op in AMOUNT_WRITES]
    found = [(write.call, one) for write in added or writes if (one := _value(write)) is not None]
    if not found:
        return None
    rows = np.array([one.row for _, one in found], case.process.events.dtype)
    steps = [case.finder.call_graphs.calls.step(call) for call, _ in found]
    is_counted = len({*steps}) > 1 and None not in steps
    numbers = np.array(steps if is_counted else range(len(found)), np.int64)
    growth = growth_of(numbers, rows, "step" if is_counted else "call")
    return WrittenGrowth(growth, found[-1][1], bool(added)) if growth is not None else None


def written_amounts(case: Case, handle: int) -> tuple[float, list[tuple[int, float]]] | None:
    """Return the largest number that a variable began with, and for each update the step and the largest amount.

    None if one of these is not known, or if the variable was set to a value and not only added to.
    """
    first = next(case.finder.variables.writes_of(handle), None)
    start = _value(first) if first is not None and first.op not in AMOUNT_WRITES else None
    writes = [write for write in _writes_before(case, handle) if first is None or write.call != first.call]
    values = [_value(write) for write in writes]
    known = [one.max_abs for one in values if one is not None]
    if start is None or len(known) != len(values) or any(write.op not in AMOUNT_WRITES for write in writes):
        return None
    steps = [case.finder.call_graphs.calls.step(write.call) for write in writes]
    return start.max_abs, [(step if step is not None else -1, size) for step, size in zip(steps, known, strict=True)]


def _writes_before(case: Case, handle: int) -> list[VariableWrite]:
    """Return the last writes of a variable by ops of eager code, before the call of the case."""
    takers = [call for call in case.finder.call_graphs.calls.consumers(handle) if call < case.out.call]
    found = (write for call in takers[-2 * MAX_WRITES :] for write in case.finder.variables.writes(call, handle))
    return [write for write in found if write.node is None][-MAX_WRITES:]


def _value(write: VariableWrite) -> ObservedTensor | None:
    """Return what was written, if its range was recorded."""
    value = next(iter(write.values), None)
    return value if value is not None and value.row is not None and value.has_range and not value.bad else None
