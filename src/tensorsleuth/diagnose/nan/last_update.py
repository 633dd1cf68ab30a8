"""The last update of a program: the variables that it wrote, the line, and the learning rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.diagnose.nan.history import ValueGrowth, handles_of, over_steps
from tensorsleuth.diagnose.nan.variable_jump import VariableJump, last_jump
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.dataflow.variables import VariableWrite

MAX_READS = 400


@dataclass(frozen=True)
class WeightUpdate:
    """The update of the weights that grew most."""

    name: str
    frame: Frame | None  # of the optimizer, or of the update by hand
    learning_rate: float | None
    growth: ValueGrowth | None
    weights: list[ObservedTensor]
    rate_jump: VariableJump | None = None


def last_update(case: Case) -> WeightUpdate | None:
    """Return the update of the weights that the case depends on; None if there was none."""
    variables = case.finder.variables
    weights = list(_weights(case))
    grown = sorted(weights, key=lambda pair: -(pair[1].last_size / pair[1].first_size if pair[1] else 0))
    for read, growth in grown:
        handle = variables.handle_of(read)
        if handle in variables.untrainable:
            continue
        write = variables.last_write(handle, read.call) if handle is not None else None
        if write is None or write.site is None or write.site.frame is None or handle is None:
            continue
        optimizer = _optimizer(case, write, weights)
        frame = optimizer[0] if optimizer is not None else write.site.frame
        rate = optimizer[1] if optimizer is not None else _tf1_learning_rate(write)
        jump = optimizer[2] if optimizer is not None else None
        return WeightUpdate(variables.name(handle), frame, rate, growth, [read], jump)
    return None


def first_reads(case: Case) -> Iterator[tuple[int, ObservedTensor]]:
    """Yield the variables that are trained, as the program first read them."""
    events, process, variables = case.process.events, case.process, case.finder.variables
    reads = np.array(sorted(_read_ids(case)), np.uint32)
    rows: Any = events[np.isin(events["tensor"], reads)] if len(reads) else events[:0]
    whose = handles_of(process, rows)
    seen: set[tuple[int, int]] = set()
    for row, read_handle in zip(rows, whose, strict=True):
        key = int(row["tensor"]), int(read_handle)
        tensor, call = process.tensor(row["tensor"]), process.call_of(row)
        if key in seen or tensor is None or call is None or len(seen) > MAX_READS:
            continue
        seen.add(key)
        one = ObservedTensor(process, tensor, row, call=call)
        handle = variables.handle_of(one)
        if handle is not None and handle not in variables.untrainable and one.has_range:
            yield handle, one


def _tf1_learning_rate(variable_write: VariableWrite) -> float | None:
    """Return the learning rate that a TensorFlow 1 optimizer passes to the op that applies the gradient."""
    rates = [value for value in variable_write.values if value.tensor.name.endswith("learning_rate")]
    return next((rate.max for rate in rates if rate.has_range), None)


def _weights(case: Case) -> list[tuple[ObservedTensor, ValueGrowth | None]]:
    """Return the variables that the last steps read, with their growth."""
    events, process = case.process.events, case.process
    time = case.out.row["time"] if case.out.row is not None else 0
    reads = np.array(sorted(_read_ids(case)), np.uint32)
    rows: Any = events[np.isin(events["tensor"], reads) & (events["time"] <= time)] if len(reads) else []
    whose: Any = handles_of(process, rows) if len(rows) else []
    last = {(int(row["tensor"]), int(handle)): row for row, handle in zip(rows, whose, strict=True)}
    # what an op reads by itself is noted after what it made
    found = [(one, over_steps(one)) for one in case.inputs if one.op in VARIABLE_READS and one.row is not None]
    for (number, _), row in list(last.items())[:MAX_READS]:
        tensor = process.tensor(number)
        call = process.call_of(row)
        if tensor is not None and call is not None:
            one = ObservedTensor(process, tensor, row, call=call)
            found.append((one, over_steps(one, rows)))  # to search all rows for each variable would take seconds
    return found


def _read_ids(case: Case) -> set[int]:
    catalogue = case.process.catalogue
    graph = {
        instance.first_tensor + node.first_output
        for instance in catalogue.instances.values()
        for node in (catalogue.functions[instance.function].nodes if instance.function in catalogue.functions else ())
        if node.type in VARIABLE_READS
    }
    return graph | {op.first_tensor for op in catalogue.eager.values() if op.type in VARIABLE_READS}


def _optimizer(
    case: Case, variable_write: VariableWrite, reads: list[tuple[ObservedTensor, ValueGrowth | None]]
) -> tuple[Frame, float | None, VariableJump | None] | None:
    """Return the line that made the Keras optimizer of the weights, its learning rate, and the rate's last jump."""
    variables = case.finder.variables
    for handle in variables.find_by_name("learning_rate"):
        frame = variables.creation_line(handle)
        if frame is not None and _is_read_for(case, handle, variable_write):
            rates = [read for read, _ in reads if read.has_range and variables.handle_of(read) == handle]
            jump = last_jump(case, handle, rates[-1]) if rates else None
            return frame, rates[-1].max if rates else None, jump
    return None


def _is_read_for(case: Case, handle: int, variable_write: VariableWrite) -> bool:
    """Does the call that writes the weights take this learning rate; in eager code, does the same line."""
    calls, sites = case.finder.call_graphs.calls, case.process.catalogue.sites
    takers = calls.consumers(handle)
    if variable_write.call in takers:
        return True
    frame = variable_write.site.frame if variable_write.site is not None else None
    before = (calls.op(call) for call in takers if call < variable_write.call)
    places = (sites.get(op.site) for op in before if op is not None)
    return any(site is not None and site.frame == frame for site in places)
