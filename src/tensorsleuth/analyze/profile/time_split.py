"""The split of each step's time. The parts add up to the step: parallel work is counted once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.intervals import Cover
from tensorsleuth.analyze.profile.op_times import OpsRun
from tensorsleuth.analyze.profile.python_calls import Made
from tensorsleuth.analyze.profile.steps import Steps
from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.kinds import INPUT
from tensorsleuth.trace.query.process_index import Asked

PARTS = ("input", "ops", "eager", "probes", "unseen", "python")
WORDS = {
    "input": "waiting for input",
    "ops": "ops in functions",
    "eager": "eager ops",
    "probes": "recording overhead",
    "unseen": "functions, not recorded inside",
    "python": "Python between calls",
}


@dataclass(frozen=True)
class Split:
    """Nanoseconds of each part, a column a part and a row a step; and what of the time is covered by what was seen."""

    parts: dict[str, Array]
    seen: Cover  # ops, input, eager ops and probes
    input: Cover  # waiting and nothing else


def is_input(asked: Asked, ops: Array) -> Array:
    """Return which of some ops wait for the next batch."""
    takes = np.array([op.type.startswith(INPUT) for op in asked.index.ops] + [False], bool)  # the last is also -1
    found: Array = takes[ops]
    return found


def split(asked: Asked, made: Made, run: OpsRun, steps: Steps) -> Split:
    """Return the parts of each step, in this order: work during an op counts as the op."""
    waits = is_input(asked, run.op)
    ours = np.isin(run.call, made.call)
    plain = ~made.function & ~made.takes
    layers = {
        "ops": Cover(run.begin[ours & ~waits], run.end[ours & ~waits]),
        "input": Cover(run.begin[ours & waits], run.end[ours & waits])
        | Cover(made.begin[made.takes], made.end[made.takes]),
        "eager": Cover(made.begin[plain], made.end[plain]),
        "probes": Cover(run.end[ours], run.looked[ours]) | Cover(made.end, made.looked),
        "unseen": Cover(made.begin[made.function], made.end[made.function]),
    }
    parts, covered, so_far = {}, Cover(steps.begin[:0], steps.end[:0]), np.zeros(len(steps), np.int64)
    seen = covered
    for name, layer in layers.items():
        covered = covered | layer
        until = covered.within(steps.begin, steps.end)
        parts[name], so_far = until - so_far, until
        seen = covered if name == "probes" else seen
    parts["python"] = steps.end - steps.begin - so_far
    return Split({name: parts[name] for name in PARTS}, seen, layers["input"])
