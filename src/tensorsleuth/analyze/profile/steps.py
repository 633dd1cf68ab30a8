"""The bounds of training steps, on the thread that trains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.python_calls import PythonCalls
from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.trace.query.process_index import ProcessIndex


@dataclass(frozen=True)
class StepBounds:
    """Columns, a row a step in the order of time. A step lasts until the next begins: Python in between is its own."""

    number: Array
    begin: Array
    end: Array
    first: Array  # of its calls, in `PythonCalls`
    last: Array  # one behind its last
    first_runs: list[tuple[str, ...]]  # functions that ran for the first time in it
    retraced: list[tuple[str, ...]]  # those of them that were traced before, for other arguments

    def __len__(self) -> int:
        return len(self.number)

    @property
    def typical(self) -> Array:
        """Return the steps in which nothing ran for the first time; all steps if there are no others."""
        usual = np.array([not new for new in self.first_runs], bool)
        return usual if usual.any() else np.ones(len(self.first_runs), bool)


def steps_of(process_index: ProcessIndex, python_calls: PythonCalls) -> StepBounds:
    """The steps of the thread that trains."""
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
    """The first call of each step. Who takes the next batch has begun the next step."""
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
    """For each step the functions that were new in it, and which of them only to TensorFlow."""
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
