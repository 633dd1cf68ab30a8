"""A loss that the program scaled up for half precision, by so much that its gradients overflow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from tensorsleuth.core.catalog import Site
from tensorsleuth.core.ops.elementwise import SCALINGS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.needs import Need
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

NEEDS = Need.FUNCTIONS | Need.EAGER_GRADIENTS
MAX_HOPS = 40  # gradient ops between the loss and the overflow
MIN_SCALE = 256.0  # the weight of a loss is smaller


class LossScale(NamedTuple):
    """The number that a loss was multiplied with, and where."""

    scale: float
    site: Site | None


def match(case: Case) -> Explanation | None:
    if case.differentiates is None or not case.out.is_half or case.op_node is None:
        return None
    if not case.out.has_inf and not case.origin.from_infinity:
        return None
    found = max(_scales(case, case.op_node), key=lambda one: one.scale, default=None)
    if found is None:
        return None
    line = found.site.frame.line if found.site is not None and found.site.frame is not None else None
    at = f", line {case.site.frame.line}," if case.site is not None and case.site.frame is not None else ""
    if math.isinf(found.scale):
        why = f"multiplies the loss by a number that {case.out.dtype} cannot hold: it became an infinity"
    elif case.origin.from_infinity:
        return None
    else:
        why = (
            f"multiplies the loss by {found.scale:,.6g}, and the gradient of {case.differentiates}{at} then exceeds "
            f"what {case.out.dtype} can hold"
        )
    return Explanation("loss-scale", 0.96, why, _LOWER, site=found.site) if line is not None else None


def _scales(case: Case, start: OpNode) -> Iterator[LossScale]:
    """Yield the products with a scalar in which the gradient began, in eager code and in functions."""
    sites = case.process.catalogue.sites
    for node in (start, *case.neighbours.ancestors(start, MAX_HOPS)):
        forward = _forward(case, node)
        made = case.neighbours.recorded_outputs(node) if forward is not None else []
        if forward is not None:
            yield from (LossScale(_size(one), sites.get(forward)) for one in made if _is_scale(one))
    if start.function is not None:
        yield from _folded_scales(case)


def _forward(case: Case, op_node: OpNode) -> int | None:
    """Return the site of the product that a node differentiates."""
    node = op_node.graph_node
    if node is not None:
        return node.forward.site if node.forward is not None and node.forward.type in SCALINGS else None
    op = case.finder.call_graphs.calls.op(op_node.call)
    forward = case.process.catalogue.eager.get(op.forward) if op is not None else None
    return forward.site if forward is not None and forward.type in SCALINGS else None


def _folded_scales(case: Case) -> Iterator[LossScale]:
    """Yield the numbers that losses are multiplied with, where TensorFlow's optimizer computed the gradient of that."""
    training = case.process.cached(TrainingGraph)
    for node in training.forward_ops(SCALINGS):
        if node.instance is not None and training.begins_gradients(node):
            slots = training.call_graphs.of_call(case.out.call).node_inputs(node.instance, node.node_index, None)
            made = [one for slot in slots for one in slot if _is_scale(one)]
            yield from (LossScale(_size(one), case.neighbours.site(node)) for one in made if one.constant is not None)


def _is_scale(one: ObservedTensor) -> bool:
    is_one = len(one.constant) == 1 if one.constant is not None else one.elements == 1
    return one.has_range and is_one and _size(one) >= MIN_SCALE


def _size(one: ObservedTensor) -> float:
    return math.inf if one.has_inf else one.max_abs


_LOWER = (
    "a smaller scale, or one that finds its level: keras.mixed_precision.LossScaleOptimizer halves it and skips the "
    "step when a gradient is not finite"
)
