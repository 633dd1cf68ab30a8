"""Finds attention in a function: a softmax of scores of keys, whose weights mix values.

`attention_ops` says what is which. No name matters: it is the same for Keras, for other libraries and written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tensorsleuth.core.ops.layer_names import layer_of
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.structure.attention_ops import (
    KEEP_AXES,
    MOVED,
    SUM,
    equation,
    scores_of,
    through,
    values_of,
)
from tensorsleuth.recording.structure.graph_edges import Edges, Tensor, Wiring

LAST_BUT_ONE = -1  # the axis of the rows, unless an equation says otherwise
NO_ROWS = -2  # there is one query, and no axis for it


@dataclass(frozen=True)
class Attention:
    """The place of an attention's weights in a graph."""

    node: int  # that computes the weights
    scores: int  # the node that compares queries with keys
    values: int  # the node that mixes values by the weights
    name: str  # of the layer, or of the op where there is none
    row_axis: int = LAST_BUT_ONE


def find_attention(
    definition: Definition, around: str | None = None, called: Mapping[str, str] | None = None
) -> list[Attention]:
    """All attention of a function, but for what belongs to gradients, in the order of its nodes.

    `around`: the layer that calls it. `called`: what the program calls scopes that bear another name in the graph.
    """
    if not any(node.op == "Softmax" or node.op == "Exp" for node in definition.proto.node_def):
        return []
    wiring = Wiring(definition)
    found = (attention_at(wiring, number, around, called) for number in range(len(wiring.nodes)))
    return [one for one in found if one is not None]


def attention_at(
    edges: Edges, number: int, around: str | None = None, called: Mapping[str, str] | None = None
) -> Attention | None:
    """The attention whose weights a node puts out."""
    start = softmax_of(edges, number)
    scores = scores_of(edges, start) if start is not None else None
    values = values_of(edges, number) if scores is not None else None
    if start is None or scores is None or values is None:
        return None
    nodes = edges.nodes
    layer = _common([layer_of(nodes[at].name, called) for at in (number, scores, values)]) or around
    return Attention(number, scores, values, layer or nodes[number].name, _row_axis(edges, start, scores))


def softmax_of(edges: Edges, number: int) -> Tensor | None:
    """Return the input of the softmax that a node computes, in the forward pass."""
    if number in edges.after_gradients:
        return None
    if edges.nodes[number].op == "Softmax":
        return edges.inputs[number][0]
    return _written_out(edges, number) if edges.nodes[number].op in ("RealDiv", "Div") else None


def _written_out(edges: Edges, number: int) -> Tensor | None:
    """The scores of exp(scores) / sum(exp(scores)), written by hand."""
    above, below = (through(edges, tensor, MOVED) for tensor in edges.inputs[number][:2])
    if above[0] < 0 or below[0] < 0 or edges.nodes[below[0]].op != SUM:
        return None
    powers = through(edges, edges.inputs[below[0]][0], MOVED)
    is_same = powers == above and edges.nodes[above[0]].op == "Exp"
    return edges.inputs[above[0]][0] if is_same else None


def _row_axis(edges: Edges, start: Tensor, scores: int) -> int:
    """The axis of the queries, where an equation tells: `bqhd,bkhd->bqhk` has them at 1, `bhd,bkhd->bhk` nowhere."""
    node = edges.nodes[scores]
    way = edges.back(start, lambda number: edges.nodes[number].op in KEEP_AXES)
    if node.op != "Einsum" or (scores, 0) not in way:
        return LAST_BUT_ONE
    taken, put_out = equation(node)
    keys = "".join(one for one in taken if put_out[-1:] in one)
    alone = [at for at, label in enumerate(put_out[:-1]) if label not in keys]
    if "." in put_out or len(taken) != 2 or len(alone) > 1:
        return LAST_BUT_ONE
    return alone[0] if alone else NO_ROWS


def _common(layers: list[str | None]) -> str | None:
    """The innermost scope that holds all of them."""
    paths = [layer.split("/") if layer else [] for layer in layers]
    common: list[str] = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common) or None
