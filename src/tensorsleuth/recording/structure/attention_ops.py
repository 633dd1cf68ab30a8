"""The test that makes a softmax an attention: keys and values are data, and the weights mix the values.

The axis of the softmax distinguishes attention from a choice among classes, experts or entries of a table. In attention
it is an axis of data and not of a variable.
"""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.core.ops.masks import (
    OPS_AFTER_SOFTMAX,
    OPS_BEFORE_SOFTMAX,
)
from tensorsleuth.core.ops.products import BATCH_MATMULS, PRODUCTS
from tensorsleuth.core.ops.views import AXIS_CHANGES, CONSTANTS_AND_VARIABLES, MOVES, VARIABLE_VIEWS
from tensorsleuth.recording.structure.graph_edges import GraphEdges, OutputRef
from tensorsleuth.recording.tensorflow import variables as tf_variables

SUM = "Sum"


def scores_of(graph_edges: GraphEdges, start: OutputRef) -> int | None:
    """Return the nearest node before a softmax that compares queries with keys."""
    for number, _ in graph_edges.walk_sources(start, lambda number: graph_edges.nodes[number].op in OPS_BEFORE_SOFTMAX):
        if number >= 0 and (_compares(graph_edges, number, start) or _sums_products(graph_edges, number)):
            return number
    return None


def values_of(graph_edges: GraphEdges, weights: int) -> int | None:
    """Return the node that mixes values by the weights: a matrix product, or the sum of an elementwise one."""
    backward = graph_edges.after_gradients
    way = graph_edges.walk_consumers(
        (weights, 0), lambda number: graph_edges.nodes[number].op in OPS_AFTER_SOFTMAX and number not in backward
    )
    for (at, _), number in way:
        if number not in backward and (
            _mixes(graph_edges, number) or _sums_weighted_values(graph_edges, number, at, weights)
        ):
            return number
    return None


def _compares(graph_edges: GraphEdges, number: int, start: OutputRef) -> bool:
    """Return whether a node multiplies data with data, or with a variable without the softmax's axis (a query)."""
    node, learned = graph_edges.nodes[number], _variable_inputs(graph_edges, number)
    if node.op not in PRODUCTS or len(learned) != 2 or all(learned):
        return False
    if not any(learned):
        return _is_batched(node)
    if node.op == "Einsum":
        taken, put_out = einsum_equation(node)
        from_data = put_out[-1:] in taken[learned.index(False)] and put_out[-1:] not in taken[learned.index(True)]
    else:
        from_data = learned[0]  # the second operand supplies the columns
    return from_data or _is_transposed(graph_edges, number, start)


def _mixes(graph_edges: GraphEdges, number: int) -> bool:
    node = graph_edges.nodes[number]
    return node.op in PRODUCTS and _is_batched(node) and not any(_variable_inputs(graph_edges, number))


def _is_batched(node: Any) -> bool:
    """Return whether a node multiplies batches of matrices."""
    if node.op != "Einsum":
        return node.op in BATCH_MATMULS
    taken, put_out = einsum_equation(node)
    return len(taken) == 2 and bool(set(taken[0]) & set(taken[1]) & set(put_out))


def _is_transposed(graph_edges: GraphEdges, number: int, start: OutputRef) -> bool:
    """Return whether a product's last axis is moved or removed before the softmax."""
    way = graph_edges.walk_sources(
        start, lambda at: graph_edges.nodes[at].op in OPS_BEFORE_SOFTMAX and not _transposes(graph_edges.nodes[at])
    )
    return (number, 0) not in way


def _transposes(node: Any) -> bool:
    shrinks = node.op == "StridedSlice" and bool(node.attr["shrink_axis_mask"].i)
    return shrinks or node.op in ("Transpose", "Squeeze")


def _sums_products(graph_edges: GraphEdges, number: int) -> bool:
    """Return whether a node computes additive scores, sum(v * tanh(query + key)), or a sum(query * key) by hand."""
    if graph_edges.nodes[number].op != SUM or not graph_edges.inputs[number]:
        return False
    source, _ = source_through(graph_edges, graph_edges.inputs[number][0], MOVES)
    return source >= 0 and graph_edges.nodes[source].op in ("Mul", "Tanh")


def _sums_weighted_values(graph_edges: GraphEdges, number: int, source: int, weights: int) -> bool:
    """Return whether a node computes sum(weights * values), where the values have an axis that the weights lack."""
    if graph_edges.nodes[number].op != SUM or source < 0 or graph_edges.nodes[source].op != "Mul":
        return False
    sides = graph_edges.inputs[source][:2]
    ways = [
        list(graph_edges.walk_sources(side, lambda at: graph_edges.nodes[at].op in OPS_AFTER_SOFTMAX and at != weights))
        for side in sides
    ]
    of_weights = [(weights, 0) in way for way in ways]
    if sum(of_weights) != 1:  # the product of two other tensors, or of the weights with themselves
        return False
    own, other = sides[of_weights.index(True)], sides[of_weights.index(False)]
    widened = graph_edges.walk_sources(
        own, lambda at: graph_edges.nodes[at].op in OPS_AFTER_SOFTMAX - AXIS_CHANGES and at != weights
    )
    return (
        (weights, 0) not in widened
        and not is_variable(graph_edges, other)
        and not _is_made_from(graph_edges, other, weights)
    )


def _is_made_from(graph_edges: GraphEdges, output_ref: OutputRef, weights: int) -> bool:
    return (weights, 0) in graph_edges.walk_sources(output_ref, lambda number: True, most=64)


def _variable_inputs(graph_edges: GraphEdges, number: int) -> list[bool]:
    return [is_variable(graph_edges, tensor) for tensor in graph_edges.inputs[number]]


def is_variable(graph_edges: GraphEdges, output_ref: OutputRef) -> bool:
    """Return whether a tensor is constant or a variable's value. A variable that the forward pass writes is a cache."""
    number, _ = source_through(graph_edges, output_ref, VARIABLE_VIEWS)
    if number < 0 or graph_edges.nodes[number].op in CONSTANTS_AND_VARIABLES:
        return number >= 0
    return graph_edges.nodes[number].op == tf_variables.READ_VARIABLE and not _is_written(graph_edges, number)


def _is_written(graph_edges: GraphEdges, read: int) -> bool:
    takers = graph_edges.consumers.get(graph_edges.inputs[read][0], ()) if graph_edges.inputs[read] else ()
    return any(
        ops.writes_variables(graph_edges.nodes[one].op) and one not in graph_edges.after_gradients for one in takers
    )


def source_through(graph_edges: GraphEdges, output_ref: OutputRef, passed: frozenset[str]) -> OutputRef:
    """Return the source of a tensor, seen through nodes that pass on their first input."""
    for _ in range(len(graph_edges.nodes)):
        if output_ref[0] < 0 or graph_edges.nodes[output_ref[0]].op not in passed:
            break
        output_ref = graph_edges.inputs[output_ref[0]][0]
    return output_ref


def einsum_equation(node: Any) -> tuple[list[str], str]:
    """Return the operands and the result of an equation such as `bqhd,bkhd->bhqk`."""
    taken, _, put_out = node.attr["equation"].s.decode().replace(" ", "").replace("...", ".").partition("->")
    return taken.split(","), put_out
