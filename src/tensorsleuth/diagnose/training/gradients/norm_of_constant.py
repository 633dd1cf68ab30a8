"""A normalization of equal values: nothing of the input is left, only the learned offset."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.ops.elementwise import ROOTS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, element_counts
from tensorsleuth.diagnose.health_words import describe_health
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 10
MIN_ELEMENTS = 16  # numbers
SQUARED_DIFFERENCE = "SquaredDifference"  # from the mean


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    for spot, rows in training.output_rows(training.forward_ops((SQUARED_DIFFERENCE,))).items():
        root = _root(training, spot) if len(rows) >= FEWEST_STEPS and _is_zero(rows) else None
        if root is not None:
            yield _finding(training, spot, root, rows)


RULE = Rule(id="norm-of-constant", severity=Severity.WRONG, find=find)


def _is_zero(rows: Array) -> bool:
    """Return whether no number ever differed from the mean of its group."""
    elements = element_counts(rows)
    return bool((rows["zero"] == elements).all() and elements.min() >= MIN_ELEMENTS)


def _root(training_graph: TrainingGraph, op_node: OpNode) -> OpNode | None:
    """Return the root of its mean plus an epsilon, which makes it a normalization."""
    around = training_graph.neighbours
    means = (user for user in around.consumers(op_node) if user.type == "Mean" and not user.is_gradient)
    sums = (user for mean in means for user in around.consumers(mean) if user.type in ("AddV2", "Add"))
    return next((user for one in sums for user in around.consumers(one) if user.type in ROOTS), None)


def _finding(training_graph: TrainingGraph, op_node: OpNode, root: OpNode, rows: Array) -> RuleFinding:
    process, last = training_graph.process, rows[-1]
    layer, shape = training_graph.layer(op_node), process.shape_of(last)
    scaled = next((user for user in training_graph.neighbours.consumers(root) if not user.is_gradient), root)
    one = f", of which the last axis has a single number: {list(shape)}" if shape and shape[-1] == 1 else ""
    why = (
        f"normalizes values that are all equal{f' ({layer})' if layer else ''}{one}: their variance is 0 in all "
        f"{len(rows):,} steps, so the output is the same for every input"
    )
    evidence = Evidence(
        "in", op_node.type, op_node.type, dtype_of(int(last["dtype"])).name, shape, describe_health(last)
    )
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=_AXIS,
        frame=training_graph.frame(scaled),
        op=root.type,
        step=process.step_of(rows[0]),
        evidence=(evidence,),
    )


_AXIS = (
    "normalise over an axis along which values differ: not one of length 1, and not before the features are made of "
    "it; a single feature is scaled by numbers of the whole data set (keras.layers.Normalization)"
)
