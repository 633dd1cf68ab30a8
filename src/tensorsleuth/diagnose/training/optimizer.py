"""The progress of a program's optimizer: its line, its rate, the losses, and the size of its updates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.layout.rows import What
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.training.returned_values import returned_rows
from tensorsleuth.diagnose.training.variable_writes import Written
from tensorsleuth.trace.series.layer_stats import Inside
from tensorsleuth.trace.series.watched import WatchedSeries

READ = "ReadVariableOp"  # of the whole variable: rows of a table that no sample asks for stay as they are
LOSSES = frozenset(["Mean", "Sum", "AddV2", "Mul", "RealDiv", "DivNoNan", "Neg", "Squeeze", "Identity"])


@dataclass(frozen=True)
class Pace:
    """All gradients as one vector, all updates as one, and all weights: their norms at each look that has all three."""

    steps: Array
    gradient: Array
    update: Array
    weight: Array  # before the step

    @property
    def ratio(self) -> Array:
        """‖what a step added‖ / ‖the weights before it‖."""
        ratio: Array = self.update / np.maximum(self.weight, np.finfo(np.float32).tiny)
        return ratio

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite([self.gradient, self.update, self.weight]).all())


def pace_of(inside: Inside) -> Pace | None:
    """None where gradients or updates were not seen."""
    gradients, updates = inside.gradients, inside.updates
    if not gradients or not updates:
        return None
    steps = reduce(np.intersect1d, [one.steps for one in (*gradients, *updates)])
    norms = _whole(gradients, "norm", steps), _whole(updates, "change", steps), _whole(updates, "before", steps)
    return Pace(steps, *norms)


def _whole(parts: list[WatchedSeries], column: str, steps: Array) -> Array:
    """The norm of all parts as one vector, at these steps; NaN where one was not compared with what it was."""
    squares = np.zeros(len(steps))
    for rows in (one.rows[np.searchsorted(one.steps, steps)] for one in parts):
        known = (rows["flags"] & What.COMPARED != 0) | (column == "norm")
        squares += np.where(known, rows[column].astype(np.float64) ** 2, np.nan)
    return np.sqrt(squares)


def losses_of(training: Training) -> dict[Spot, Array]:
    """The single numbers that gradients start from, with their values from step to step."""
    spots = [spot for spot in training.forward(LOSSES) if training.begins_gradients(spot)]
    seen = training.rows(spots)
    found = {spot: seen[spot] if spot in seen else returned_rows(training, spot) for spot in spots}
    return {spot: rows["max"] for spot, rows in found.items() if _are_numbers(training, rows)}


def _are_numbers(training: Training, rows: Array) -> bool:
    return len(rows) > 0 and training.process.shape_of(rows[0]) == ()


def readings(training: Training, name: str) -> Array:
    """Return an optimizer variable's values by step, from the op that reads it most often."""
    handles = set(training.variables.called(name))
    reads = [spot for spot in training.forward((READ,)) if training.handle(spot) in handles]
    values = [part["max"] for part in training.rows(reads).values()]
    return max(values, key=len, default=np.zeros(0, np.float32))


def rate_of(training: Training) -> float | None:
    """Return the last learning rate of a Keras optimizer, if it is a variable that was read."""
    values = readings(training, "learning_rate")
    return float(values[-1]) if len(values) else None


def optimizer_at(training: Training) -> Frame | None:
    """The line that made a Keras optimizer."""
    handles = [*training.variables.called("learning_rate"), *training.variables.called("iteration")]
    made = (training.variables.made_at(handle) for handle in handles)
    return next((frame for frame in made if frame is not None), None)


def updated_at(training: Training) -> Frame | None:
    """The line that made a Keras optimizer; of updates by hand, the first that a function makes."""
    made = optimizer_at(training)
    if made is not None:
        return made
    written = Written(training)
    spots = (spot for writers in written.by_functions.values() for spot in writers)
    lines = (written.updated_at(spot) for spot in spots if training.root_of(spot) in training.roots)
    return next((frame for frame in lines if frame is not None), None)
