"""Finds attention in a function: a softmax over scores of keys, whose weights mix values.

`attention_ops` decides which op has which part. Names do not matter, so this works for Keras, other libraries and
handwritten code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tensorsleuth.core.ops.layer_names import layer_of
from tensorsleuth.core.ops.masks import AXIS_KEEPING_OPS
from tensorsleuth.core.ops.views import MOVES
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.structure.attention_ops import SUM, einsum_equation, scores_of, source_through, values_of
from tensorsleuth.recording.structure.graph_edges import FunctionEdges, GraphEdges, OutputRef

DEFAULT_ROW_AXIS = -1  # the axis of the rows, unless an einsum equation differs
NO_ROW_AXIS = -2  # a single query, without an axis


@dataclass(frozen=True)
class AttentionNodes:
    """The nodes of one attention in a graph."""

    node: int  # computes the weights
    scores: int  # compares queries with keys
    values: int  # mixes values by the weights
    name: str  # of the layer; without a layer, of the op
    row_axis: int = DEFAULT_ROW_AXIS


def find_attention(
    definition: Definition, around: str | None = None, called: Mapping[str, str] | None = None
) -> list[AttentionNodes]:
    """Return all attention of a function outside of its backward pass, in the order of the nodes.

    `around` is the layer that calls the function. `called` maps scopes of the graph to the program's names for them.
    """
    if not any(node.op == "Softmax" or node.op == "Exp" for node in definition.proto.node_def):
        return []
    function_edges = FunctionEdges(definition)
    found = (attention_at(function_edges, number, around, called) for number in range(len(function_edges.nodes)))
    return [one for one in found if one is not None]


def attention_at(
    graph_edges: GraphEdges, number: int, around: str | None = None, called: Mapping[str, str] | None = None
) -> AttentionNodes | None:
    """Return the attention whose weights a node computes, if any."""
    start = softmax_of(graph_edges, number)
    scores = scores_of(graph_edges, start) if start is not None else None
    values = values_of(graph_edges, number) if scores is not None else None
    if start is None or scores is None or values is None:
        return None
    nodes = graph_edges.nodes
    layer = _common_scope([layer_of(nodes[at].name, called) for at in (number, scores, values)]) or around
    return AttentionNodes(number, scores, values, layer or nodes[number].name, _row_axis(graph_edges, start, scores))


def softmax_of(graph_edges: GraphEdges, number: int) -> OutputRef | None:
    """Return the input of the softmax that a node computes, in the forward pass."""
    if number in graph_edges.after_gradients:
        return None
    if graph_edges.nodes[number].op == "Softmax":
        return graph_edges.inputs[number][0]
    return _handwritten_softmax(graph_edges, number) if graph_edges.nodes[number].op in ("RealDiv", "Div") else None


def _handwritten_softmax(graph_edges: GraphEdges, number: int) -> OutputRef | None:
    """Return the scores of a handwritten softmax, exp(scores) / sum(exp(scores))."""
    above, below = (source_through(graph_edges, tensor, MOVES) for tensor in graph_edges.inputs[number][:2])
    if above[0] < 0 or below[0] < 0 or graph_edges.nodes[below[0]].op != SUM:
        return None
    powers = source_through(graph_edges, graph_edges.inputs[below[0]][0], MOVES)
    is_same = powers == above and graph_edges.nodes[above[0]].op == "Exp"
    return graph_edges.inputs[above[0]][0] if is_same else None


def _row_axis(graph_edges: GraphEdges, start: OutputRef, scores: int) -> int:
    """Return the axis of the queries in an einsum equation: 1 in `bqhd,bkhd->bhqk`, none in `bhd,bkhd->bhk`."""
    node = graph_edges.nodes[scores]
    way = graph_edges.walk_sources(start, lambda number: graph_edges.nodes[number].op in AXIS_KEEPING_OPS)
    if node.op != "Einsum" or (scores, 0) not in way:
        return DEFAULT_ROW_AXIS
    taken, put_out = einsum_equation(node)
    keys = "".join(one for one in taken if put_out[-1:] in one)
    alone = [at for at, label in enumerate(put_out[:-1]) if label not in keys]
    if "." in put_out or len(taken) != 2 or len(alone) > 1:
        return DEFAULT_ROW_AXIS
    return alone[0] if alone else NO_ROW_AXIS


def _common_scope(layers: list[str | None]) -> str | None:
    """Return the innermost scope that contains all of these."""
    paths = [layer.split("/") if layer else [] for layer in layers]
    common: list[str] = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common) or None
