"""The share of a tanh's or sigmoid's gradient that is exactly zero, in code whose layers were not sampled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.activations import MAX_SLOPES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, element_counts
from tensorsleuth.diagnose.training.eager_ops import rows_of_eager_op

GRADIENT_OPS = {f"{kind}Grad": kind for kind in MAX_SLOPES}


def activation_gradients(training_graph: TrainingGraph) -> Iterator[tuple[OpNode, Array]]:
    """Yield each activation that reaches an end of its range, with the rows of the gradient that it passes back."""
    for forward, gradient, rows in (*_in_functions(training_graph), *_in_eager_code(training_graph)):
        made = next(iter(training_graph.output_rows([forward]).values()), None)
        if made is not None and _reaches_ends(made) and not _gets_zeros(training_graph, gradient, rows):
            yield forward, rows


def _reaches_ends(rows: Array) -> bool:
    """Return whether the largest number is 1 in every step: that is where tanh and sigmoid are flat."""
    return bool((np.maximum(rows["max"], -rows["min"]) == 1).all())


def _gets_zeros(training_graph: TrainingGraph, gradient: OpNode, rows: Array) -> bool:
    """Return whether most of what comes back to it is 0 already."""
    process = training_graph.process
    call = process.call_of(rows[-1])
    slots = training_graph.neighbours.recorded_inputs(replace(gradient, call=call)) if call is not None else []
    incoming = [one for slot in slots[1:2] for one in slot if one.has_range]
    return any(one.count("zero") > one.elements / 2 for one in incoming)


def _in_eager_code(training_graph: TrainingGraph) -> Iterator[tuple[OpNode, OpNode, Array]]:
    ops = training_graph.process.catalogue.eager
    for op in ops.values():
        forward = ops.get(op.forward) if op.type in GRADIENT_OPS else None
        if forward is not None and forward.type == GRADIENT_OPS[op.type]:
            made, found = (rows_of_eager_op(training_graph.process, one) for one in (forward, op))
            if made is not None and found is not None:
                yield made[0], *found


def _in_functions(training_graph: TrainingGraph) -> Iterator[tuple[OpNode, OpNode, Array]]:
    made: dict[OpNode, OpNode] = {}
    for instance, function in training_graph.instances:
        names = {node.name: number for number, node in enumerate(function.nodes)}
        for number, node in enumerate(function.nodes):
            forward = names.get(node.forward.name) if node.type in GRADIENT_OPS and node.forward is not None else None
            if forward is not None:
                spot = OpNode(function.nodes[forward].type, instance, function, forward)
                made[OpNode(node.type, instance, function, number)] = spot
    for gradient, rows in training_graph.output_rows(made).items():
        yield made[gradient], gradient, rows


def zero_shares(rows: Array) -> Array:
    """Return the share of exact zeros in each row."""
    shares: Array = rows["zero"] / element_counts(rows).clip(1)
    return shares
