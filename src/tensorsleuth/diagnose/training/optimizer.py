"""The progress of a program's optimizer: its line, its rate, the losses, and the size of its updates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.layout.rows import MeasureFlag
from tensorsleuth.core.ops.reductions import LOSS_ENDS
from tensorsleuth.diagnose.graph.made_before import optimizer_made_before
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.source_lines import code_at
from tensorsleuth.diagnose.training.eager_losses import EagerLosses
from tensorsleuth.diagnose.training.returned_values import returned_rows
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

_COUNTED = re.compile(r"_\d+$")  # at the end of a name that was made unique
_OPTIMIZER = re.compile(r"\boptimizers\.(?:\w+\.)*(\w+)\(")
APPLY = "Apply"  # in the names of ops that are a whole optimizer
READ_VARIABLE = "ReadVariableOp"  # of the whole variable: rows of a table that no sample asks for stay as they are


@dataclass(frozen=True)
class UpdateNorms:
    """The norms of all gradients, all updates and all weights, each as one vector, in each complete sample."""

    steps: Array
    gradient: Array
    update: Array
    weight: Array  # before the step

    @property
    def update_ratio(self) -> Array:
        """Return ‖update‖ / ‖weights before it‖ for each step."""
        ratio: Array = self.update / np.maximum(self.weight, np.finfo(np.float32).tiny)
        return ratio

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite([self.gradient, self.update, self.weight]).all())


def update_norms(layer_statistics: LayerStatistics) -> UpdateNorms | None:
    """Return the norms; None if gradients or updates were not sampled."""
    gradients, updates = layer_statistics.gradients, layer_statistics.updates
    if not gradients or not updates:
        return None
    steps = reduce(np.intersect1d, [one.steps for one in (*gradients, *updates)])
    norms = (
        _total_norm(gradients, "norm", steps),
        _total_norm(updates, "change", steps),
        _total_norm(updates, "before", steps),
    )
    return UpdateNorms(steps, *norms)


def _total_norm(parts: list[WatchedSeries], column: str, steps: Array) -> Array:
    """Return the norm of all parts as one vector at these steps; NaN if a part has no earlier value."""
    squares = np.zeros(len(steps))
    for rows in (one.rows[np.searchsorted(one.steps, steps)] for one in parts):
        known = (rows["flags"] & MeasureFlag.COMPARED != 0) | (column == "norm")
        squares += np.where(known, rows[column].astype(np.float64) ** 2, np.nan)
    return np.sqrt(squares)


def losses_of(training_graph: TrainingGraph) -> dict[OpNode, Array]:
    """Return the scalars that gradients start from, with their values by step."""
    return training_graph.process.cached(_losses)


def _losses(process: ProcessTrace) -> dict[OpNode, Array]:
    training_graph = process.cached(TrainingGraph)
    spots = [spot for spot in training_graph.forward_ops(LOSS_ENDS) if training_graph.begins_gradients(spot)]
    seen = training_graph.output_rows(spots)
    found = {spot: seen[spot] if spot in seen else returned_rows(training_graph, spot) for spot in spots}
    found |= process.cached(EagerLosses).rows
    return {spot: rows["max"] for spot, rows in found.items() if _are_scalars(training_graph, rows)}


def _are_scalars(training_graph: TrainingGraph, rows: Array) -> bool:
    return len(rows) > 0 and training_graph.process.shape_of(rows[0]) == ()


def has_rivals(training_graph: TrainingGraph) -> bool:
    """Return whether two lines each train variables of their own, as for a generator and a discriminator.

    What one of them gains the other may lose, whose loss then rises.
    """
    written = WrittenVariables(training_graph)
    lines = {
        frozenset(written.update_line(spot) for spot in spots if APPLY in spot.type)
        for spots in written.by_functions.values()
    } - {frozenset()}
    return any(one.isdisjoint(other) for one, other in combinations(lines, 2))


def variable_values(training_graph: TrainingGraph, name: str) -> Array:
    """Return an optimizer variable's values by step, from the op that reads it most often."""
    handles = set(training_graph.variables.find_by_name(name))
    reads = [
        spot for spot in training_graph.forward_ops((READ_VARIABLE,)) if training_graph.variable_handle(spot) in handles
    ]
    values = [part["max"] for part in training_graph.output_rows(reads).values()]
    return max(values, key=len, default=np.zeros(0, np.float32))


def last_learning_rate(training_graph: TrainingGraph) -> float | None:
    """Return the last learning rate of a Keras optimizer, if it is a variable that was read."""
    values = variable_values(training_graph, "learning_rate")
    return float(values[-1]) if len(values) else None


def optimizer_name(training_graph: TrainingGraph) -> str | None:
    """Return the class of a Keras optimizer as the program writes it, `SGD`; Keras 3 names its variables so too."""
    known, made = training_graph.variables.names, optimizer_line(training_graph)
    code = (code_at(training_graph.process, made) or "") if made is not None else ""
    names = (known[handle] for handle in training_graph.variables.find_by_name("learning_rate"))
    name = next((_COUNTED.sub("", one.split("/")[0]) for one in names if "/" in one), None)
    written = re.search(name, code, re.IGNORECASE) if name is not None else _OPTIMIZER.search(code)
    return written.group(written.lastindex or 0) if written is not None else name


def optimizer_line(training_graph: TrainingGraph) -> Frame | None:
    """Return the line that made a Keras optimizer."""
    handles = [
        *training_graph.variables.find_by_name("learning_rate"),
        *training_graph.variables.find_by_name("iteration"),
    ]
    made = (training_graph.variables.creation_line(handle) for handle in handles)
    return next((frame for frame in made if frame is not None), None)


def update_line(training_graph: TrainingGraph) -> Frame | None:
    """Return the line that made a Keras optimizer; for hand-written updates, the first update of a function."""
    made = optimizer_line(training_graph)
    if made is not None:
        return made
    used = _hand_written_line(training_graph)
    return optimizer_made_before(training_graph.process, used) or used


def _hand_written_line(training_graph: TrainingGraph) -> Frame | None:
    written_variables = WrittenVariables(training_graph)
    spots = (spot for writers in written_variables.by_functions.values() for spot in writers)
    lines = (
        written_variables.update_line(spot) for spot in spots if training_graph.root_id(spot) in training_graph.roots
    )
    in_functions = next((frame for frame in lines if frame is not None), None)
    return in_functions or _eager_update_line(training_graph, written_variables)


def _eager_update_line(training_graph: TrainingGraph, written_variables: WrittenVariables) -> Frame | None:
    """Return the line that last wrote a variable that a tape differentiated; its first value does not count."""
    for handle in sorted(set().union(*training_graph.process.catalogue.losses.values())):
        calls = written_variables.by_eager_calls.get(handle, [])
        op = training_graph.call_graphs.calls.op(calls[-1]) if len(calls) > 1 else None
        if op is not None:
            return written_variables.update_line(OpNode(op.type, call=calls[-1]))
    return None
