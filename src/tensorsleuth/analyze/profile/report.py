"""The answer of `sleuth profile`, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tensorsleuth.analyze.profile.bottleneck import Bottleneck, find_bottleneck
from tensorsleuth.analyze.profile.profile import Profile, other_processes, profile_of
from tensorsleuth.analyze.profile.slow_steps import SlowStep, slowest_steps
from tensorsleuth.analyze.profile.time_split import PART_TITLES
from tensorsleuth.analyze.profile.time_tables import TABLE_KEYS, TimeRow, row_to_json
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.trace.reader import Trace


@dataclass(frozen=True)
class ProfileReport:
    """The answer with all times in nanoseconds."""

    run: str
    step: int | None  # the requested step, if any
    steps: int  # number of covered steps
    left_out: int  # steps in which a function or op ran for the first time
    outliers: int  # steps that took far longer than the median one, and are not in the sums either
    outlier_share: float  # of the time of both
    wall: int
    bottleneck: Bottleneck
    parts: dict[str, int]
    tables: dict[str, list[TimeRow]]
    slowest: list[SlowStep]
    notes: list[str]

    def total_time(self, by: str) -> int:
        """Return the sum of a table's rows."""
        return sum(line.time for line in self.tables[by])

    def to_json(self) -> dict[str, Any]:
        """Return the fields of `sleuth profile --json`."""
        told = {
            by: [row_to_json(line, self.total_time(by), self.steps) for line in lines]
            for by, lines in self.tables.items()
        }
        return {
            "run": self.run,
            "step": self.step,
            "steps": self.steps,
            "left_out": self.left_out,
            "outliers": {"steps": self.outliers, "share": self.outlier_share},
            "ms_per_step": self.wall / 1e6 / max(self.steps, 1),
            "verdict": asdict(self.bottleneck),
            "split": {part: time / max(self.wall, 1) for part, time in self.parts.items()},
            "by": told,
            "slowest": [
                {"step": slow.step, "ms": slow.time / 1e6, "times_usual": slow.times_usual, "why": slow.why}
                for slow in self.slowest
            ],
            "notes": self.notes,
        }


def make_profile_report(trace: Trace, step: int | None = None) -> tuple[ProfileReport, Profile]:
    """Return the report on the process with the most calls of TensorFlow."""
    profile = profile_of(trace, step)
    made = ProfileReport(
        trace.path.name,
        step,
        profile.count,
        *((0, 0, 0.0) if step is not None else _left_out(profile)),
        profile.wall,
        find_bottleneck(profile),
        profile.parts,
        {by: profile.table(by) for by in TABLE_KEYS},
        slowest_steps(profile),
        list(_notes(trace, profile)),
    )
    return made, profile


def _left_out(profile: Profile) -> tuple[int, int, float]:
    """Return how many steps are not in the sums: first runs, and outliers with their share of the time."""
    outliers = int(profile.outliers.sum())
    return len(profile.steps) - profile.count - outliers, outliers, profile.outlier_share


def part_title(part: str) -> str:
    """Return the name of a part of the time."""
    return PART_TITLES[part]


def _notes(trace: Trace, profile: Profile) -> list[str]:
    """Return notes on what is unknown or measured differently."""
    return [*_traced(profile), *_at_once(profile), *_closed(profile), *_missing(profile), *_elsewhere(trace, profile)]


def _closed(profile: Profile) -> list[str]:
    """Return notes on functions in which nothing was recorded."""
    made, ops = profile.python_calls, profile.process_index.op_index.ops
    looked_into = set(made.op[np.isin(made.call, np.unique(profile.op_runs.call))].tolist())
    closed = {
        program_name(ops[op].type) for op in set(made.op[made.is_function & (made.op >= 0)].tolist()) - looked_into
    }
    why = "compiled by XLA, recorded in FLIGHT, or without a tensor to record"
    return [f"{name} is one bar: nothing inside it was recorded ({why})." for name in sorted(closed)]


def _missing(profile: Profile) -> list[str]:
    lost = profile.process_index.process.lost_events
    return [f"{lost:,} of the oldest rows were overwritten: their ops are missing."] if lost else []


def _traced(profile: Profile) -> list[str]:
    """Return a note if no step was left out of the sums, though functions were traced in all."""
    if not all(profile.steps.first_runs[at] for at in np.flatnonzero(profile.chosen)):
        return []
    return ["A function ran for the first time here: tracing it counts as Python, optimizing it as the function."]


def _at_once(profile: Profile) -> list[str]:
    """Return a note if the table adds up to more than the time."""
    if profile.threads < 2:
        return []
    return [f"{profile.threads} threads ran ops in parallel: their times add up to more than the step's."]


def _elsewhere(trace: Trace, profile: Profile) -> list[str]:
    count = len(other_processes(trace, profile))
    return [f"This is the busiest of {count + 1} processes."] if count else []
