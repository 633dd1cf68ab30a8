"""Layers that one step killed: it was as long as the weights, and they put out nothing but zeros since."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.gradients.dead_layer import DeadLayer, dead_layers
from tensorsleuth.diagnose.training.optimizer import (
    last_learning_rate,
    losses_of,
    optimizer_name,
    update_line,
    update_norms,
)
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

MIN_RATIO = 0.5  # of the update to the weights: a thousandth is usual
MIN_JUMP = 30.0  # times the largest loss before
UNSCALED = 20.0  # data that is scaled to 0 … 1, or to a deviation of 1, stays below
MAX_SHOWN = 3
TOO_HIGH = "learning-rate-too-high"


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    dead = [one for one in dead_layers(training) if one.lived]
    if not dead:
        return
    first = min(dead, key=lambda one: one.step)
    jump, ratio = _jump(training, first.step), _update_ratio(process, first.step)
    if jump is not None or ratio >= MIN_RATIO:
        yield _finding(training, sorted(dead, key=lambda one: one.step), jump, ratio)


RULE = Rule(
    id="dead-by-step",
    severity=Severity.WRONG,
    find=find,
    causes=(TOO_HIGH,),
    supersedes=(
        "step-length",
        "dead-layer",
        TOO_HIGH,
        "chance-loss",
        "predictions-collapsed",
        "flat-loss",
        "loss-rose",
        "zero-gradients",
        "diverging-loss",
    ),
    is_symptom=True,
)


def _jump(training_graph: TrainingGraph, step: int) -> str | None:
    """Describe the jump of the loss, if there is one right before a step or in it."""
    for losses in losses_of(training_graph).values():
        seen = np.abs(losses[: step + 1].astype(np.float64))
        for at in (step, step - 1):
            if 0 < at < len(seen) and seen[at] >= MIN_JUMP * seen[:at].max() > 0:
                return f"the loss jumped from {losses[at - 1]:.3g} to {losses[at]:.3g} at step {at}"
    return None


def _update_ratio(process: ProcessTrace, step: int) -> float:
    """Return the update in the last sampled step before, as a share of the weights."""
    norms = update_norms(process.cached(LayerStatistics))
    before = norms.update_ratio[norms.steps < step] if norms is not None and norms.is_finite else np.zeros(0)
    return float(before[-1]) if len(before) else 0.0


def _finding(training_graph: TrainingGraph, dead: list[DeadLayer], jump: str | None, ratio: float) -> RuleFinding:
    rate, data = last_learning_rate(training_graph), _input_range(training_graph)
    moved = f"the step before moved the weights by {ratio:.2g} times their own length"
    how = [
        optimizer_name(training_graph),
        f"learning rate {rate:.3g}" if rate is not None else None,
        f"inputs {data[0]:.4g} … {data[1]:.4g}" if data is not None else None,
    ]
    known = f" ({', '.join(part for part in how if part)})" if any(how) else ""
    names = [one.name for one in dead[:MAX_SHOWN]]
    more = f" and {len(dead) - MAX_SHOWN} more" if len(dead) > MAX_SHOWN else ""
    are = "are" if len(dead) > 1 else "is"
    why = (
        f"takes a step that is too long: {jump or moved}{known}, and since step {dead[0].step} "
        f"{', '.join(names)}{more} {are} dead"
    )
    is_large = data is not None and max(-data[0], data[1]) >= UNSCALED
    return RuleFinding(
        cause=TOO_HIGH,
        confidence=0.92,
        why=why,
        fix=_SCALE if is_large else _SMALLER,
        frame=update_line(training_graph),
        op="update",
        step=max(dead[0].step - 1, 0),
        evidence=(text_evidence("also", "update to weights", f"{ratio:.3g}"),) if ratio else (),
        effects=tuple(f"since step {one.step}, {one.words}" for one in dead),
    )


def _input_range(training_graph: TrainingGraph) -> tuple[float, float] | None:
    """Return the range of the largest batch that the program feeds, over the first steps."""
    process = training_graph.process
    rows = process.early_events()
    known = {int(number): process.tensor(number) for number in np.unique(rows["tensor"])}
    fed = [number for number, one in known.items() if one is not None and one.type in EXTERNAL_SOURCES]
    parts = [rows[rows["tensor"] == number] for number in fed]
    batches = [part for part in parts if _is_batch(process, part)]
    largest = max(batches, key=lambda part: len(process.shape_of(part[0]) or ()), default=None)
    return (float(largest["min"].min()), float(largest["max"].max())) if largest is not None else None


def _is_batch(process: ProcessTrace, rows: Array) -> bool:
    shape = process.shape_of(rows[0])
    return shape is not None and len(shape) >= 2 and dtype_of(int(rows["dtype"][0])).name.startswith("float")


_SCALE = (
    "scale the inputs to about −1 … 1 first (pixels: x / 255.0, or keras.layers.Rescaling; else "
    "keras.layers.Normalization); then lower the learning rate, if the loss still jumps"
)
_SMALLER = "a learning rate 10 to 100 times smaller, warm-up, or clipping of the gradients (clipnorm=1.0)"
