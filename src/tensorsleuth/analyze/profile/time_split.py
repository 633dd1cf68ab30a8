"""The split of each step's time. The parts add up to the step: parallel work is counted once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.intervals import IntervalUnion
from tensorsleuth.analyze.profile.op_times import OpRuns
from tensorsleuth.analyze.profile.python_calls import PythonCalls
from tensorsleuth.analyze.profile.steps import StepBounds
from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.kinds import INPUT_OPS
from tensorsleuth.trace.query.process_index import ProcessIndex

PARTS = ("input", "ops", "eager", "probes", "unseen", "python")
PART_TITLES = {
    "input": "waiting for input",
    "ops": "ops in functions",
    "eager": "eager ops",
    "probes": "recording overhead",
    "unseen": "functions, not recorded inside",
    "python": "Python between calls",
}


@dataclass(frozen=True)
class TimeSplit:
    """Nanoseconds of each part, a column for each part and a row for each step, with the covered intervals."""

    parts: dict[str, Array]
    recorded: IntervalUnion  # by ops, input, eager ops and probes
    input: IntervalUnion  # waiting for input and nothing else


def is_input(process_index: ProcessIndex, ops: Array) -> Array:
    """Return which ops wait for the next batch."""
    takes = np.array(
        [op.type.startswith(INPUT_OPS) for op in process_index.op_index.ops] + [False], bool
    )  # the last entry answers for -1
    found: Array = takes[ops]
    return found


def split_time(
    process_index: ProcessIndex, python_calls: PythonCalls, run: OpRuns, step_bounds: StepBounds
) -> TimeSplit:
    """Return the parts of each step, in this order: anything that runs during an op counts as the op."""
    waits = is_input(process_index, run.op)
    ours = np.isin(run.call, python_calls.call)
    plain = ~python_calls.is_function & ~python_calls.waits_for_input
    layers = {
        "ops": IntervalUnion(run.begin[ours & ~waits], run.end[ours & ~waits]),
        "input": IntervalUnion(run.begin[ours & waits], run.end[ours & waits])
        | IntervalUnion(
            python_calls.begin[python_calls.waits_for_input], python_calls.end[python_calls.waits_for_input]
        ),
        "eager": IntervalUnion(python_calls.begin[plain], python_calls.end[plain]),
        "probes": IntervalUnion(run.end[ours], run.probe_end[ours])
        | IntervalUnion(python_calls.end, python_calls.probe_end),
        "unseen": IntervalUnion(
            python_calls.begin[python_calls.is_function], python_calls.end[python_calls.is_function]
        ),
    }
    parts, covered, so_far = (
        {},
        IntervalUnion(step_bounds.begin[:0], step_bounds.end[:0]),
        np.zeros(len(step_bounds), np.int64),
    )
    seen = covered
    for name, layer in layers.items():
        covered = covered | layer
        until = covered.covered_time(step_bounds.begin, step_bounds.end)
        parts[name], so_far = until - so_far, until
        seen = covered if name == "probes" else seen
    parts["python"] = step_bounds.end - step_bounds.begin - so_far
    return TimeSplit({name: parts[name] for name in PARTS}, seen, layers["input"])
