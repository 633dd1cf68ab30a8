"""A run's time, asked of its trace: what each step went into, by op, layer and line."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.profile.op_times import OpsRun, ops_run
from tensorsleuth.analyze.profile.python_calls import Made, calls_made
from tensorsleuth.analyze.profile.steps import Steps, steps_of
from tensorsleuth.analyze.profile.time_split import Split, split
from tensorsleuth.analyze.profile.time_tables import Line, Spent, spent, table
from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.process_index import Asked
from tensorsleuth.trace.reader import Trace


class Profile:
    """The time of one process, over some of its steps: the usual ones, or one that is asked for."""

    def __init__(
        self, asked: Asked, step: int | None = None, alone: bool = False, known: tuple[Made, Steps] | None = None
    ) -> None:
        """`alone`: look at the ops of no other step. `known`: the calls and steps, where they were made before."""
        self.asked = asked
        self._all = not alone
        self.made = known[0] if known else calls_made(asked)
        self.steps = known[1] if known else steps_of(asked, self.made)
        self.chosen = self.steps.usual if step is None else self._one(step)

    def _one(self, step: int) -> Array:
        chosen: Array = self.steps.number == step
        if not chosen.any():
            numbers = self.steps.number
            known = f"steps {numbers.min()} to {numbers.max()}" if len(numbers) else "none"
            raise SleuthError(f"step {step} was not recorded; there are {known}. Take one of these: --step N")
        return chosen

    @cached_property
    def run(self) -> OpsRun:
        return ops_run(self.asked) if self._all else ops_run(self.asked, *self.stretch)

    @property
    def stretch(self) -> tuple[int, int]:
        """When the first of the steps that it is about began, and the last ended."""
        begins, ends = self.steps.begin[self.chosen], self.steps.end[self.chosen]
        return (int(begins.min()), int(ends.max())) if len(begins) else (0, 0)

    @cached_property
    def split(self) -> Split:
        return split(self.asked, self.made, self.run, self.steps)

    @property
    def count(self) -> int:
        """Return the number of steps that it covers."""
        return int(self.chosen.sum())

    @property
    def wall(self) -> int:
        """Return the time that they took together, in nanoseconds."""
        return int((self.steps.end - self.steps.begin)[self.chosen].sum())

    @property
    def parts(self) -> dict[str, int]:
        """Return the parts of the time; they add up to `wall`."""
        return {name: int(times[self.chosen].sum()) for name, times in self.split.parts.items()}

    @cached_property
    def spent(self) -> list[Spent]:
        """By op of the program. Threads run ops at once, so that it may add up to more than `wall`."""
        return spent(self.asked, self.made, self.run, self.split, self.within)

    def within(self, times: Array) -> Array:
        """Return which of some times lie in a step that it covers."""
        at = np.searchsorted(self.steps.begin, times, "right") - 1
        inside = (at >= 0) & (times <= self.steps.end[at]) if len(self.steps) else np.zeros(len(times), bool)
        found: Array = inside & self.chosen[at] if len(self.steps) else inside
        return found

    def table(self, by: str) -> list[Line]:
        """Summed up by op, layer or line, the most time first."""
        lines = table(self.spent, by)
        return [replace(line, text=self._text(line)) for line in lines] if by == "line" else lines

    def _text(self, line: Line) -> str:
        """The line as it was when it ran."""
        source = self.asked.process.catalogue.sources.get(line.file or "", "").split("\n")
        return source[line.line - 1].strip() if line.line and 0 < line.line <= len(source) else ""

    @property
    def threads(self) -> int:
        """Return the number of threads that ran ops of functions."""
        return len(np.unique(self.run.thread[self.run.call >= 0]))


def busiest(trace: Trace) -> int:
    """The number of the process that called TensorFlow most."""
    return max(range(len(trace.processes)), key=lambda at: trace.processes[at].call_count)


def profile_of(trace: Trace, step: int | None = None) -> Profile:
    """Return the profile of the process that called TensorFlow most."""
    if not trace.processes:
        raise SleuthError(f"{trace.path} holds no recorded process. Record one: sleuth run program.py")
    number = busiest(trace)
    profile = Profile(Asked(trace.processes[number], number), step)
    if not len(profile.made):
        raise SleuthError(f"{trace.path.name} has no call of TensorFlow's in it. See what it holds: sleuth info")
    return profile


def others(trace: Trace, profile: Profile) -> list[ProcessTrace]:
    """The processes that it is not about."""
    return [process for process in trace.processes if process is not profile.asked.process and process.call_count]
