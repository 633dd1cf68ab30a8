"""A hidden layer with an inactive ReLU: most samples get only zeros through, and no gradient comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.ops.activations import RELUS
from tensorsleuth.core.ops.elementwise import DEAD_UNIT_PASSES
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import MAX_HOPS_TO_WEIGHTS, TrainingGraph, element_counts
from tensorsleuth.diagnose.health_words import describe_health
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.diagnose.training.eager_ops import differentiated_eager_ops, rows_by_layer
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 10  # that it has to be dead for, up to the end
MIN_ELEMENTS = 64  # numbers: a few may be zero by chance
FEWEST_UNITS = 0.5  # that are on for a sample, on average: with fewer, half of the samples have none


@dataclass(frozen=True)
class DeadLayer:
    """A ReLU that puts out almost nothing but zeros in its last rows."""

    training: TrainingGraph
    op_node: OpNode
    rows: Array
    dead: int  # of the rows, the last

    @property
    def lived(self) -> bool:
        return self.dead < len(self.rows)

    @property
    def step(self) -> int:
        """Return the first step in which it is dead."""
        return self.training.process.step_of(self.rows[len(self.rows) - self.dead]) or 0

    @property
    def name(self) -> str:
        """Return its layer; else its line."""
        frame = self.training.frame(self.op_node)
        line = f"the ReLU in line {frame.line}" if frame is not None else "a ReLU"
        return (self.training.layer(self.op_node) or line).rpartition("/")[2]

    @property
    def words(self) -> str:
        share = _share(self.rows[len(self.rows) - self.dead :])
        return f"{self.name} puts out {share} in each of the last {self.dead:,} of {len(self.rows):,} steps"


def dead_layers(training_graph: TrainingGraph) -> Iterator[DeadLayer]:
    """Yield the layers that are dead at the end."""
    for spot, rows in _relus(training_graph):
        dead = _dead_at_the_end(training_graph.process, rows, _is_made_of_nan(training_graph, spot, rows))
        if dead >= FEWEST_STEPS and _is_hidden(training_graph, spot):
            yield DeadLayer(training_graph, spot, rows, dead)


def _relus(training_graph: TrainingGraph) -> Iterator[tuple[OpNode, Array]]:
    yield from training_graph.output_rows(training_graph.forward_ops(RELUS)).items()
    for _, rows in differentiated_eager_ops(training_graph.process, RELUS):
        yield from rows_by_layer(training_graph.process, rows)


def _is_hidden(training_graph: TrainingGraph, op_node: OpNode) -> bool:
    """Return whether it is computed from weights, and other weights multiply its output."""
    before = (one.type for one in training_graph.neighbours.ancestors(op_node, MAX_HOPS_TO_WEIGHTS))
    return any(kind in VARIABLE_READS for kind in before) and training_graph.feeds_next_layer(op_node, DEAD_UNIT_PASSES)


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    for one in dead_layers(training):
        yield _finding(training, one.op_node, one.rows, one.dead)


RULE = Rule(
    id="dead-layer",
    severity=Severity.WRONG,
    find=find,
    supersedes=("step-length", "learning-rate-too-high", "zero-gradients", "predictions-collapsed"),
    is_symptom=True,
)


def _dead_at_the_end(process: ProcessTrace, rows: Array, made_of_nan: Array) -> int:
    """Return in how many of the last rows most samples have no active unit."""
    alive = np.flatnonzero(
        (_units_on(process, rows) >= FEWEST_UNITS) | (element_counts(rows) < MIN_ELEMENTS) | made_of_nan
    )
    return len(rows) - 1 - int(alive[-1]) if len(alive) else len(rows)


def _is_made_of_nan(training_graph: TrainingGraph, op_node: OpNode, rows: Array) -> Array:
    """Return which rows were made of a NaN: a product with bias and ReLU in one op of oneDNN makes zeros of it."""
    before = [one for one in training_graph.neighbours.ancestors(op_node) if one.instance is not None]
    bad = [part["step"][part["nan"] > 0] for part in training_graph.output_rows(before).values()]
    return np.isin(rows["step"], np.concatenate(bad)) if bad else np.zeros(len(rows), bool)


def _units_on(process: ProcessTrace, rows: Array) -> Array:
    """Return the mean number of active units of a sample, or of a position in one; a NaN counts as active."""
    last = np.array([shape[-1] if shape else 0 for shape in process.shapes])
    elements = element_counts(rows)
    on: Array = last[np.minimum(rows["shape"], len(last) - 1)] * (elements - rows["zero"]) / np.maximum(elements, 1)
    return on


def _finding(training_graph: TrainingGraph, op_node: OpNode, rows: Array, dead: int) -> RuleFinding:
    process, last = training_graph.process, rows[-1]
    layer, shape = training_graph.layer(op_node), process.shape_of(last)
    since, share = process.step_of(rows[len(rows) - dead]), _share(rows[len(rows) - dead :])
    always = dead == len(rows)
    when = f"in all {len(rows):,} steps" if always else f"in each of the last {dead:,} of {len(rows):,} steps"
    why = (
        f"puts out {share} {when}{f' ({layer})' if layer else ''}: this ReLU is inactive for nearly every unit of "
        "every sample, so almost no signal passes forward and almost no gradient passes back"
    )
    evidence = Evidence(
        "out", op_node.type, op_node.type, dtype_of(int(last["dtype"])).name, shape, describe_health(last)
    )
    return RuleFinding(
        confidence=0.94,
        why=why,
        fix=_AT_ONCE if always else _LATER,
        frame=training_graph.frame(op_node),
        op=op_node.type,
        step=since,
        evidence=(evidence,),
    )


def _share(rows: Array) -> str:
    zeros = float(rows["zero"].sum() / max(int(element_counts(rows).sum()), 1))
    return "nothing but zeros" if zeros == 1 else f"zeros, {100 * min(zeros, 0.9999):.2f} %"


_AT_ONCE = (
    "look at what goes in: biases that start far below zero, inputs of one sign that are not normalised, weights of "
    "one sign; he_normal for the kernel, zeros for the bias, or a leaky ReLU"
)
_LATER = (
    "a step moved its weights to where the ReLU is inactive: a smaller learning rate, warm-up, or clipping of the "
    "gradients; a leaky ReLU or gelu can come back"
)
