"""The last update of a program: the variables that it wrote, the line, and the learning rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.graph.made_before import optimizer_made_before
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.diagnose.nan.history import ValueGrowth, handles_of, over_steps
from tensorsleuth.diagnose.nan.variable_jump import VariableJump, last_jump
from tensorsleuth.diagnose.nan.written_growth import variables_taken, written_growth
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.dataflow.variables import VariableWrite

MAX_READS = 400
NO_PARAMETERS = ("metric", "optimizer")  # roles of variables
MAX_HOPS_TO_RATE = 12  # ops from the write of a weight


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
    trained = [pair for pair in weights if _is_trained(case, variables.handle_of(pair[0]))]
    written = _written_update(case, weights) if not any(growth for _, growth in trained) else None
    if written is not None:
        return written
    grown = sorted(trained, key=lambda pair: -(pair[1].last_size / pair[1].first_size if pair[1] else 0))
    for read, growth in grown:
        handle = variables.handle_of(read)
        write = variables.last_write(handle, read.call) if handle is not None else None
        if write is None or write.site is None or write.site.frame is None or handle is None:
            continue
        return _update(case, write, weights, growth, [read])
    taken = (handle for handle in variables_taken(case) if _is_trained(case, handle))
    return next((update for handle in taken if (update := update_of(case, handle)) is not None), None)


def _written_update(case: Case, reads: list[tuple[ObservedTensor, ValueGrowth | None]]) -> WeightUpdate | None:
    """Return the update of the weights that grew most, of those that ops of eager code read by themselves."""
    variables = case.finder.variables
    handles = [handle for handle in variables_taken(case) if _is_trained(case, handle)]
    grown = [(handle, found) for handle in handles if (found := written_growth(case, handle)) is not None]
    handle, found = max(grown, key=lambda pair: pair[1].growth.last_size / pair[1].growth.first_size, default=(0, None))
    write = variables.last_write(handle, case.out.call) if found is not None else None
    if found is None or write is None or write.site is None or write.site.frame is None:
        return None
    update = _update(case, write, reads, found.growth, [found.last])
    return replace(update, name=f"what is added to {update.name}") if found.is_amount else update


def _is_trained(case: Case, handle: int | None) -> bool:
    """Return whether a variable may be a weight, and not a counter, a rate or a slot of an optimizer."""
    role = case.process.catalogue.variables.get(handle if handle is not None else -1, ("", ""))[1]
    return role not in NO_PARAMETERS and handle not in case.finder.variables.untrainable


def update_of(case: Case, handle: int) -> WeightUpdate | None:
    """Return the last update of one variable before the case; None if the program gave it other values instead."""
    write = case.finder.variables.last_write(handle, case.out.call)
    if write is None or write.site is None or _is_given_anew(case, write):
        return None
    return _update(case, write, _weights(case), None, [])


def _is_given_anew(case: Case, variable_write: VariableWrite) -> bool:
    """Return whether an eager assignment wrote what was not computed from the variable, so that no rate was in it."""
    if variable_write.op != "AssignVariableOp" or variable_write.node is not None:
        return False
    calls, node = case.finder.call_graphs.calls, OpNode(variable_write.op, call=variable_write.call)
    # what computes with a variable takes its handle, be it a read or an op that reads it by itself
    return all(
        variable_write.handle not in calls.inputs(one.call) for one in case.neighbours.ancestors(node, MAX_HOPS_TO_RATE)
    )


def _update(
    case: Case,
    write: VariableWrite,
    reads: list[tuple[ObservedTensor, ValueGrowth | None]],
    growth: ValueGrowth | None,
    evidence: list[ObservedTensor],
) -> WeightUpdate:
    optimizer, site = _optimizer(case, write, reads), write.site
    used = site.frame if site is not None else None
    frame = optimizer[0] if optimizer is not None else optimizer_made_before(case.process, used) or used
    rate = optimizer[1] if optimizer is not None else _tf1_learning_rate(write)
    jump = optimizer[2] if optimizer is not None else None
    return WeightUpdate(case.finder.variables.name(write.handle), frame, rate, growth, evidence, jump)


def jump_at(weight_update: WeightUpdate, step: int) -> VariableJump | None:
    """Return the rise of the learning rate at a step, if a line of the program wrote it."""
    jump = weight_update.rate_jump
    if jump is None or jump.frame is None or jump.step is None or jump.after < jump.before:
        return None
    return jump if abs(step - jump.step) <= 1 else None


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
    time, step = (case.out.row["time"], case.out.row["step"]) if case.out.row is not None else (0, 0)
    reads = np.array(sorted(_read_ids(case)), np.uint32)
    until = (events["time"] <= time) | (events["step"] == step)  # the ops of a call run in any order
    rows: Any = events[np.isin(events["tensor"], reads) & until] if len(reads) else []
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
    handle = _rate_of(case, variable_write)
    frame = variables.creation_line(handle) if handle is not None else None
    if handle is None or frame is None:
        return None
    rates = [read for read, _ in reads if read.has_range and variables.handle_of(read) == handle]
    jump = last_jump(case, handle, rates[-1]) if rates else None
    return frame, rates[-1].max if rates else _written_rate(case, handle), jump


def _written_rate(case: Case, handle: int) -> float | None:
    """Return the learning rate that was written last, if no row shows a read of it."""
    write = case.finder.variables.last_write(handle, case.out.call)
    value = next(iter(write.values), None) if write is not None and write.op == "AssignVariableOp" else None
    return value.max if value is not None and value.has_range else None


def _rate_of(case: Case, variable_write: VariableWrite) -> int | None:
    """Return the learning rate that a write was computed with, of all optimizers that the program made."""
    rates = list(case.finder.variables.find_by_name("learning_rate"))
    computed = _variables_behind(case, variable_write) if len(rates) > 1 else set()
    found = [handle for handle in rates if handle in computed]
    if found or not rates:
        return next(iter(found), None)
    reads = {handle: _last_read_for(case, handle, variable_write) for handle in rates}
    last = max(rates, key=lambda handle: reads[handle])
    return last if reads[last] >= 0 else None


def _variables_behind(case: Case, variable_write: VariableWrite) -> set[int | None]:
    """Return the variables that a node which writes was computed from; none of eager code."""
    writes = (variable_write, *case.finder.variables.writes(case.out.call, variable_write.handle))
    for write in writes:  # of compiled code only the call that went bad was seen from inside
        function = case.process.catalogue.functions.get(write.instance.function) if write.instance is not None else None
        if write.node is not None and function is not None:
            number = function.number(write.node)
            node = OpNode(write.op, write.instance, function, number, call=write.call)
            found = case.neighbours.ancestors(node, MAX_HOPS_TO_RATE)
            return {case.neighbours.variable_of(one) for one in found if one.type in VARIABLE_READS}
    return set()


def _last_read_for(case: Case, handle: int, variable_write: VariableWrite) -> int:
    """Return the call that took a learning rate for a write: the same call, or the last one in its line; else -1."""
    calls, sites = case.finder.call_graphs.calls, case.process.catalogue.sites
    takers = calls.consumers(handle)
    if variable_write.call in takers:
        return variable_write.call
    frame = variable_write.site.frame if variable_write.site is not None else None
    before = [call for call in takers if call < variable_write.call]
    for call in reversed(before):
        op = calls.op(call)
        site = sites.get(op.site) if op is not None else None
        if site is not None and site.frame == frame:
            return call
    return -1
