"""The last update of a program: the variables that it wrote, the line, and the learning rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.diagnose.nan.history import ValueGrowth, handles_of, over_steps
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
        optimizer = _optimizer(case, weights)
        frame = optimizer[0] if optimizer is not None else write.site.frame
        rate = optimizer[1] if optimizer is not None else _tf1_learning_rate(write)
        return WeightUpdate(variables.name(handle), frame, rate, growth, [read])
    return None


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


def _optimizer(case: Case, reads: list[tuple[ObservedTensor, ValueGrowth | None]]) -> tuple[Frame, float | None] | None:
    """Return the line that made a Keras optimizer, and its learning rate."""
    variables = case.finder.variables
    for handle in variables.find_by_name("learning_rate"):
        frame = variables.creation_line(handle)
        if frame is not None:
            values = [read.max for read, _ in reads if read.has_range and variables.handle_of(read) == handle]
            return frame, values[-1] if values else None
    return None
