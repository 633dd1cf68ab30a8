"""Ops of eager code that tapes differentiated, with the rows of their outputs."""

from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import EagerOp
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.elementwise import SATURATED_UNIT_PASSES
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.trace.dataflow.observed_tensor import uid_of
from tensorsleuth.trace.process.process import ProcessTrace


def differentiated_eager_ops(
    process: ProcessTrace, types: Container[str], output: int | None = None
) -> Iterator[tuple[OpNode, Array]]:
    """Yield the ops of these types that tapes differentiated, each with the rows of an output, else of its last."""
    ops = process.catalogue.eager
    for number in sorted({op.forward for op in ops.values() if op.forward > 0} & ops.keys()):
        op = ops[number]
        found = (
            rows_of_eager_op(process, op, op.outputs - 1 if output is None else output) if op.type in types else None
        )
        if found is not None:
            yield found


def rows_by_layer(process: ProcessTrace, rows: Array) -> Iterator[tuple[OpNode, Array]]:
    """Yield the rows of an op one layer at a time: the first of each step, the second of each step, and so on.

    Layers that a program runs in one line, as in a loop over them, are one op in the catalogue.
    """
    rows = rows[np.argsort(rows["step"], kind="stable")]  # of eager code, the number of the call
    steps = process.steps_of_calls(rows["step"].astype(np.int64))
    places = np.arange(len(rows)) - np.searchsorted(steps, steps)
    for place in np.unique(places):
        part = rows[places == place]
        tensor = process.tensor(int(part[0]["tensor"]))
        if tensor is not None:
            yield OpNode(tensor.type, uids=(uid_of(part[0]),), call=int(part["step"][0])), part


def rows_of_eager_op(process: ProcessTrace, op: EagerOp, output: int = 0) -> tuple[OpNode, Array] | None:
    """Return the rows of an output, oldest first, and a node for the first call; None if nothing was recorded."""
    rows = process.events[process.events["tensor"] == op.first_tensor + output]
    rows = rows[rows["flags"] & EventFlag.RANGED != 0]
    return (OpNode(op.type, uids=(uid_of(rows[0]),), call=int(rows["step"][0])), rows) if len(rows) else None


def feeds_product(training_graph: TrainingGraph, op_node: OpNode) -> bool:
    """Return whether weights multiply an activation, at most cast, moved or with a bias: it is a hidden layer."""
    if op_node.function is not None:
        return training_graph.feeds_next_layer(op_node, SATURATED_UNIT_PASSES)
    return any(user.type in LAYER_PRODUCTS for user in training_graph.forward_consumers(op_node))
