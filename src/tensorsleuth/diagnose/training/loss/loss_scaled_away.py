"""A loss that is multiplied by 0, or by so small a number that no update moves a weight."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.elementwise import SCALINGS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.eager_losses import EagerLosses
from tensorsleuth.diagnose.training.optimizer import losses_of
from tensorsleuth.diagnose.training.weight_changes import weights_stay
from tensorsleuth.trace.dataflow.call_graph import constant_of
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 8
MAX_FACTOR = 1e-6
LEAST_LOSS = 1e-6  # before it is scaled: with less, nothing is left to be learned
SHOWN_CALLS = 8  # of eager code, whose operands are compared


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    for spot, losses in losses_of(training).items():
        if spot.type not in SCALINGS or len(losses) < FEWEST_STEPS or np.abs(losses).max() > MAX_FACTOR:
            continue
        factors = _factors(training, spot, losses)
        if len(factors) and np.abs(factors).max() <= MAX_FACTOR and weights_stay(process):
            yield _finding(training, spot, factors, losses)


RULE = Rule(
    id="loss-scaled-away",
    severity=Severity.WRONG,
    find=find,
    supersedes=("step-length", "zero-gradients", "flat-loss", "frozen-weights", "chance-loss", "predictions-collapsed"),
)


def _factors(training_graph: TrainingGraph, loss: OpNode, losses: Array) -> Array:
    """Return what the loss before was multiplied by, as far as it is known."""
    if loss.function is None:
        return _eager_factors(training_graph, loss)
    sources = [one for slot in training_graph.neighbours.input_ops(loss) for one in slot]
    numbers = [constant_of(one.graph_node) for one in sources if one.graph_node and one.graph_node.type == "Const"]
    known = [one[0] for one in numbers if one is not None and len(one) == 1]
    if known:
        return np.array([known[0] if loss.type != "RealDiv" else 1 / known[0] if known[0] else np.inf])
    rows = training_graph.output_rows(sources).values()
    before = [part["max"] for part in rows if len(part) == len(losses) and _is_scalar(training_graph, part)]
    large = [one for one in before if np.abs(one).min() > LEAST_LOSS]
    return np.asarray(losses / large[0]) if large else losses[:0]


def _is_scalar(training_graph: TrainingGraph, rows: Array) -> bool:
    return training_graph.process.shape_of(rows[0]) == ()


def _eager_factors(training_graph: TrainingGraph, loss: OpNode) -> Array:
    """Compare the loss with its operands in some calls."""
    rows, calls = training_graph.process.cached(EagerLosses).rows[loss], training_graph.call_graphs.calls
    some = rows[np.unique(np.linspace(0, len(rows) - 1, SHOWN_CALLS).astype(int))]
    factors = []
    for row in some:
        given = [training_graph.call_graphs.by_uid(uid) for uid in calls.inputs(int(row["step"]))]
        sizes = [abs(one.max) for one in given if one is not None and one.has_range and one.shape == ()]
        largest = max(sizes, default=0.0)
        if largest <= LEAST_LOSS:
            return rows["max"][:0]
        factors.append(float(row["max"]) / largest)
    return np.array(factors)


def _finding(training_graph: TrainingGraph, loss: OpNode, factors: Array, losses: Array) -> RuleFinding:
    factor = float(np.abs(factors).max())
    why = (
        f"multiplies the loss by {factor:.3g}, so that it is {losses[-1]:.3g}: gradients are as much smaller, and in "
        f"{len(losses):,} steps no update moves the weights"
    )
    said = f"{np.abs(losses).max():.3g} at most in {len(losses):,} steps"
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_KEEP,
        frame=training_graph.frame(loss),
        op=loss.type,
        step=0,
        evidence=(text_evidence("out", loss.type, said),),
    )


_KEEP = (
    "differentiate the loss as it is, a mean over the samples, and set the learning rate for its size; look at a "
    "weight or an annealing factor that is 0, or divides integers, and at a number of samples that divides twice"
)
