"""When each op in a function ran, from when the probes behind it did.

TensorFlow runs a probe right after the op that it stands behind, on the same thread: an op that takes more than a few
microseconds is alone in the list of what its thread is to run next. So an op ended when the look at its output
began, and began when the last of its inputs had been looked at and its thread had finished with the row before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.model.rows import CallKind, EventFlag, EventKind
from tensorsleuth.timing.feeding import Feeding
from tensorsleuth.timing.looks import look_times
from tensorsleuth.trace.asked import Asked
from tensorsleuth.trace.look_up import LookUp
from tensorsleuth.trace.ring_reader import Array


@dataclass(frozen=True)
class OpsRun:
    """Columns, a row an op that ran in a function; times in nanoseconds, as the rows have them."""

    begin: Array
    end: Array  # when the look at what it put out began
    looked: Array  # when that look was over
    thread: Array
    op: Array  # place in `asked.index.ops`
    call: Array  # that Python waits for; -1 for what a dataset runs
    event: Array  # number of its event, -1 where it has none

    def __len__(self) -> int:
        return len(self.begin)


def ops_run(asked: Asked) -> OpsRun:
    """Of all ops of a process that ran in functions and were seen."""
    ends, looked, threads, tensors, places, runs, numbers = _rows(asked)
    order = np.argsort(looked, kind="stable")
    ends, looked, threads, tensors, places, runs, numbers = (
        column[order] for column in (ends, looked, threads, tensors, places, runs, numbers)
    )
    calls = asked._joined(runs)
    floor = np.maximum(_thread_free(threads, looked), _inputs_ready(asked, tensors, places, runs, ends, looked))
    begins = np.minimum(np.maximum(floor, _called(asked, calls)), ends)
    begins = np.where(begins > 0, begins, ends)  # of what nothing is known before
    first = _one_an_op(places, runs, ends, numbers, asked)
    return OpsRun(*(c[first] for c in (begins, ends, looked, threads, places, calls, numbers)))
