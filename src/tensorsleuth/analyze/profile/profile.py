"""The time of a run, from its trace: the parts of each step, by op, layer and line."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.profile.op_times import OpRuns, op_runs
from tensorsleuth.analyze.profile.python_calls import PythonCalls, read_python_calls
from tensorsleuth.analyze.profile.steps import StepBounds, steps_of
from tensorsleuth.analyze.profile.time_split import TimeSplit, split_time
from tensorsleuth.analyze.profile.time_tables import OpCost, TimeRow, op_costs, time_table
from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.process_index import ProcessIndex
from tensorsleuth.trace.reader import Trace


class Profile:
    """The time of one process, over some of its steps: all but first runs and outliers, or one that is asked for."""

    def __init__(
        self,
        process_index: ProcessIndex,
        step: int | None = None,
        alone: bool = False,
        known: tuple[PythonCalls, StepBounds] | None = None,
    ) -> None:
        """With `alone`, read the ops of no other step. `known` holds the calls and steps, if already made."""
        self.process_index = process_index
        self._all = not alone
        self.python_calls = known[0] if known else read_python_calls(process_index)
        self.steps = known[1] if known else steps_of(process_index, self.python_calls)
        self.chosen = self.steps.typical & ~self.steps.outliers if step is None else self._one(step)

    def _one(self, step: int) -> Array:
        chosen: Array = self.steps.number == step
        if not chosen.any():
            numbers = self.steps.number
            known = f"steps {numbers.min()} to {numbers.max()}" if len(numbers) else "none"
            raise SleuthError(f"step {step} was not recorded; recorded are {known}. Choose one: --step N")
        return chosen

    @cached_property
    def op_runs(self) -> OpRuns:
        return op_runs(self.process_index) if self._all else op_runs(self.process_index, *self.time_range)

    @property
    def time_range(self) -> tuple[int, int]:
        """The begin of the first covered step, and the end of the last."""
        begins, ends = self.steps.begin[self.chosen], self.steps.end[self.chosen]
        return (int(begins.min()), int(ends.max())) if len(begins) else (0, 0)

    @cached_property
    def split(self) -> TimeSplit:
        return split_time(self.process_index, self.python_calls, self.op_runs, self.steps)

    @property
    def count(self) -> int:
        """The number of covered steps."""
        return int(self.chosen.sum())

    @property
    def outliers(self) -> Array:
        """Return the steps that are left out because they took far longer than most."""
        return self.steps.outliers & ~self.chosen

    @property
    def outlier_share(self) -> float:
        """Return the share of the time that the outliers took."""
        time = int((self.steps.end - self.steps.begin)[self.outliers].sum())
        return time / max(time + self.wall, 1)

    @property
    def wall(self) -> int:
        """The total time of the covered steps, in nanoseconds."""
        return int((self.steps.end - self.steps.begin)[self.chosen].sum())

    @property
    def parts(self) -> dict[str, int]:
        """The parts of the time, which add up to `wall`."""
        return {name: int(times[self.chosen].sum()) for name, times in self.split.parts.items()}

    @cached_property
    def op_costs(self) -> list[OpCost]:
        """The time by op of the program. Threads run in parallel, so that it may add up to more than `wall`."""
        return op_costs(self.process_index, self.python_calls, self.op_runs, self.split, self.within)

    def within(self, times: Array) -> Array:
        """Return which times lie in a covered step."""
        at = np.searchsorted(self.steps.begin, times, "right") - 1
        inside = (at >= 0) & (times <= self.steps.end[at]) if len(self.steps) else np.zeros(len(times), bool)
        found: Array = inside & self.chosen[at] if len(self.steps) else inside
        return found

    def table(self, by: str) -> list[TimeRow]:
        """Return sums by op, layer or line, the most time first."""
        lines = time_table(self.op_costs, by)
        return [replace(line, text=self._text(line)) for line in lines] if by == "line" else lines

    def _text(self, time_row: TimeRow) -> str:
        """Return the text of a row's line as it was during the run."""
        source = self.process_index.process.catalogue.sources.get(time_row.file or "", "").split("\n")
        return source[time_row.line - 1].strip() if time_row.line and 0 < time_row.line <= len(source) else ""

    @property
    def threads(self) -> int:
        """The number of threads that ran ops of functions."""
        return len(np.unique(self.op_runs.thread[self.op_runs.call >= 0]))


def busiest_process(trace: Trace) -> int:
    """Return the number of the process with the most calls of TensorFlow."""
    return max(range(len(trace.processes)), key=lambda at: trace.processes[at].call_count)


def profile_of(trace: Trace, step: int | None = None) -> Profile:
    """Return the profile of the process with the most calls of TensorFlow."""
    if not trace.processes:
        raise SleuthError(f"{trace.path} holds no recorded process. Record one: sleuth run program.py")
    number = busiest_process(trace)
    profile = Profile(ProcessIndex(trace.processes[number], number), step)
    if not len(profile.python_calls):
        raise SleuthError(f"{trace.path.name} has no call of TensorFlow. To see its content: sleuth info")
    return profile


def other_processes(trace: Trace, profile: Profile) -> list[ProcessTrace]:
    """Return the processes that the profile does not cover."""
    return [
        process for process in trace.processes if process is not profile.process_index.process and process.call_count
    ]
