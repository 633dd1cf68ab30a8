"""The bounds of training steps on the training thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.python_calls import PythonCalls
from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.trace.query.process_index import ProcessIndex

OUTLIER_FACTOR = 2  # times the median step


@dataclass(frozen=True)
class StepBounds:
    """The steps as columns, in order of time. A step lasts until the next begins."""

    number: Array
    begin: Array
    end: Array
    first: Array  # index of its first call, in `PythonCalls`
    last: Array  # index after its last call
    first_runs: list[tuple[str, ...]]  # functions that ran for the first time in it
    retraced: list[tuple[str, ...]]  # those that had been traced before, for other arguments

    def __len__(self) -> int:
        return len(self.number)

    @property
    def typical(self) -> Array:
        """Return which steps had no first run of a function; all steps if every step had one."""
        usual = np.array([not new for new in self.first_runs], bool)
        return usual if usual.any() else np.ones(len(self.first_runs), bool)

    @property
    def outliers(self) -> Array:
        """Return the typical steps that took far longer than the median of them."""
        times, typical = self.end - self.begin, self.typical
        median = float(np.median(times[typical])) if len(self) else 0.0
        return np.asarray(typical & (times > OUTLIER_FACTOR * median))


def steps_of(process_index: ProcessIndex, python_calls: PythonCalls) -> StepBounds:
    """Return the steps of the training thread."""
    if not len(python_calls):
        none = np.empty(0, np.int64)
        return StepBounds(none, none, none, none, none, [], [])
    first = _beginnings(python_calls)
    last = np.append(first[1:], len(python_calls))
    begin = python_calls.begin[first]
    end = np.append(begin[1:], max(int(python_calls.probe_end[-1]), int(python_calls.end.max())))
    new, retraced = _first_runs(process_index, python_calls, first)
    return StepBounds(python_calls.step[last - 1], begin, end, first, last, new, retraced)


def _beginnings(python_calls: PythonCalls) -> Array:
    """Return the first call of each step. Taking the next batch begins the next step."""
    changes = (np.flatnonzero(python_calls.step[1:] != python_calls.step[:-1]) + 1).tolist()
    first = [0]
    for change in changes:
        while change > first[-1] + 1 and python_calls.waits_for_input[change - 1]:
            change -= 1
        first.append(change)
    return np.array(first, np.int64)


def _first_runs(
    process_index: ProcessIndex, python_calls: PythonCalls, first: Array
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return for each step its new functions, and those that were only retraced."""
    new: list[list[str]] = [[] for _ in first]
    retraced: list[list[str]] = [[] for _ in first]
    known: set[str] = set()
    names: set[str] = set()
    for at in np.flatnonzero(python_calls.is_function & (python_calls.op >= 0)).tolist():
        traced = process_index.op_index.ops[int(python_calls.op[at])].type
        if traced in known:
            continue
        step = int(np.searchsorted(first, at, "right")) - 1
        (retraced if program_name(traced) in names else new)[step].append(program_name(traced))
        known.add(traced)
        names.add(program_name(traced))
    both = [tuple(a + b) for a, b in zip(new, retraced, strict=True)]
    return both, [tuple(names) for names in retraced]
