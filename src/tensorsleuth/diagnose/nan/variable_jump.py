"""A variable that the program set to a far larger or smaller number: a learning rate, a scale, a temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.diagnose.nan.history import handles_of
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

MIN_JUMP = 10.0  # times as large, or as small: schedules move in smaller steps


@dataclass(frozen=True)
class VariableJump:
    """A variable that was one number in a step and quite another in the next."""

    name: str
    before: float
    after: float
    step: int | None
    frame: Frame | None  # of the write

    def __str__(self) -> str:
        when = f" at step {self.step}" if self.step is not None and self.step >= 0 else ""
        return f"{self.name} went from {self.before:.3g} to {self.after:.3g}{when}"


def last_jump(case: Case, handle: int, read: ObservedTensor) -> VariableJump | None:
    """Return the last jump of a variable that holds one number, up to this read of it, and the line that wrote it."""
    process, variables = case.process, case.finder.variables
    if read.row is None or read.elements != 1:
        return None
    rows = process.events[process.events["tensor"] == read.row["tensor"]]
    rows = rows[(rows["time"] <= read.row["time"]) & (rows["flags"] & EventFlag.RANGED != 0)]
    if read.tensor.eager is not None and len(rows):
        rows = rows[handles_of(process, rows) == handle]
    sizes = np.abs(rows["max"].astype(np.float64))
    known = (sizes[:-1] > 0) & (sizes[1:] > 0)
    ratio = np.where(known, sizes[1:] / np.where(known, sizes[:-1], 1.0), 1.0)
    jumps = np.flatnonzero((ratio >= MIN_JUMP) | (ratio <= 1 / MIN_JUMP))
    if not len(jumps):
        return None
    before, after = rows[jumps[-1]], rows[jumps[-1] + 1]
    call = process.call_of(after)
    write = variables.last_write(handle, call) if call is not None else None
    frame = write.site.frame if write is not None and write.site is not None else None
    name = variables.name(handle).split("/")[-1].replace("_", " ")
    return VariableJump(name, float(before["max"]), float(after["max"]), process.step_of(after), frame)


def jump_of_input(case: Case) -> VariableJump | None:
    """Return the jump, in the step of the case itself, of a number that the op's argument was computed from."""
    if case.op_node is None or case.origin.from_outside:
        return None
    variables = case.finder.variables
    for node in case.neighbours.ancestors(case.op_node, 6):
        if node.type not in VARIABLE_READS:
            continue
        for read in case.neighbours.recorded_outputs(node):
            handle = variables.handle_of(read)
            jump = last_jump(case, handle, read) if handle is not None else None
            if jump is not None and jump.frame is not None and jump.step == case.origin.call_graph.step:
                return jump
    return None
