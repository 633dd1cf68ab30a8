"""Finds attention in a function: a softmax whose scores come from a batched product of data with data, and whose
weights go into another one. No name matters: it is the same for Keras, for other libraries and written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tensorsleuth.capture import tf_variables
from tensorsleuth.capture.definition import Definition
from tensorsleuth.capture.wiring import Tensor, Wiring
from tensorsleuth.model.layers import layer_of

LAST_BUT_ONE = -1  # the axis of the rows, unless an equation says otherwise

_BATCHED = frozenset(["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"])
_MOVED = frozenset(["Cast", "Identity", "StopGradient", "Reshape", "Transpose", "ExpandDims", "Squeeze", "Snapshot"])
_MOVED |= {"IdentityN"}  # behind what has a gradient of its own, as the dropout of DeBERTa
_CUT = frozenset(["Slice", "StridedSlice", "ConcatV2", "Pad", "PadV2"])
_MASKED = frozenset(["Select", "SelectV2", "Mul", "MulNoNan", "RealDiv", "Div"])
# From scores to the softmax: scaled, capped, masked.
_BEFORE = _MOVED | _CUT | _MASKED | {"AddV2", "Add", "Sub", "BiasAdd", "Maximum", "Minimum", "ClipByValue", "Tanh"}
# From the weights to the values: dropped out.
_AFTER = _MOVED | _CUT | _MASKED
_KEEP_AXES = frozenset(["Cast", "Identity", "StopGradient", "Snapshot"]) | _MASKED
_KEEP_AXES |= {"AddV2", "Add", "Sub", "BiasAdd", "Maximum", "Minimum", "ClipByValue", "Tanh"}


@dataclass(frozen=True)
class Attention:
    """Where the weights of an attention are."""

    node: int  # that computes the weights
    weights: str  # their tensor, as its takers write it
    scores: int  # the node that multiplies queries with keys
    values: int  # the node that multiplies weights with values
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
    found = (_attention(wiring, weights, scores, around, called) for weights, scores in _softmaxes(wiring))
    return [one for one in found if one is not None]


def _softmaxes(wiring: Wiring) -> Iterator[tuple[int, Tensor]]:
    """Nodes that put out weights, and the scores that these are of."""
    for number, node in enumerate(wiring.nodes):
        if number in wiring.after_gradients:
            continue
        if node.op == "Softmax":
            yield number, wiring.inputs[number][0]
        elif node.op in ("RealDiv", "Div"):
            scores = _written_out(wiring, number)
            if scores is not None:
                yield number, scores


def _written_out(wiring: Wiring, number: int) -> Tensor | None:
    """The scores of exp(scores) / sum(exp(scores)), written by hand."""
    above, below = (_through(wiring, tensor, _MOVED) for tensor in wiring.inputs[number][:2])
    if above[0] < 0 or below[0] < 0 or wiring.nodes[below[0]].op != "Sum":
        return None
    powers = _through(wiring, wiring.inputs[below[0]][0], _MOVED)
    is_same = powers == above and wiring.nodes[above[0]].op == "Exp"
    return wiring.inputs[above[0]][0] if is_same else None


def _attention(
    wiring: Wiring, weights: int, scores: Tensor, around: str | None, called: Mapping[str, str] | None
) -> Attention | None:
    product = _scores(wiring, scores)
    values = _values(wiring, weights) if product is not None else None
    if product is None or values is None:
        return None
    nodes = wiring.nodes
    layer = _common([layer_of(nodes[at].name, called) for at in (weights, product, values)]) or around
    name = layer or nodes[weights].name
    axis = _row_axis(wiring, scores, product)
    return Attention(weights, wiring.name((weights, 0)), product, values, name, axis)


def _scores(wiring: Wiring, start: Tensor) -> int | None:
    """The nearest product of data with data that scores are made of."""
    way = wiring.back(start, lambda number: wiring.nodes[number].op in _BEFORE)
    return next((number for number, _ in way if number >= 0 and _is_product(wiring, number)), None)


def _values(wiring: Wiring, weights: int) -> int | None:
    """The product that takes the weights."""
    backward = wiring.after_gradients
    way = wiring.on((weights, 0), lambda number: wiring.nodes[number].op in _AFTER and number not in backward)
    return next((number for _, number in way if number not in backward and _is_product(wiring, number)), None)


def _is_product(wiring: Wiring, number: int) -> bool:
    """Does a node multiply matrices of a batch, all of them data: a product with a variable is a layer."""
    node = wiring.nodes[number]
    if node.op not in _BATCHED and not (node.op == "Einsum" and _shares_a_batch(node)):
        return False
    return not any(_is_variable(wiring, tensor) for tensor in wiring.inputs[number])


def _shares_a_batch(node: Any) -> bool:
    taken, put_out = _equation(node)
    return len(taken) == 2 and bool(set(taken[0]) & set(taken[1]) & set(put_out))


def _equation(node: Any) -> tuple[list[str], str]:
    """`bqhd,bkhd->bhqk`: what it takes, and what it puts out."""
    taken, _, put_out = node.attr["equation"].s.decode().replace(" ", "").replace("...", ".").partition("->")
    return taken.split(","), put_out


def _is_variable(wiring: Wiring, tensor: Tensor) -> bool:
    number, _ = _through(wiring, tensor, _MOVED)
    return number >= 0 and wiring.nodes[number].op in (tf_variables.READ_VARIABLE, "Const", "VariableV2")


def _through(wiring: Wiring, tensor: Tensor, passed: frozenset[str]) -> Tensor:
    """What a tensor is, seen through nodes that hand on their first input."""
    for _ in range(len(wiring.nodes)):
        if tensor[0] < 0 or wiring.nodes[tensor[0]].op not in passed:
            break
        tensor = wiring.inputs[tensor[0]][0]
    return tensor


def _row_axis(wiring: Wiring, scores: Tensor, product: int) -> int:
    """The axis of the queries, where an equation tells: `bqhd,bkhd->bqhk` has them at 1."""
    node = wiring.nodes[product]
    way = wiring.back(scores, lambda number: wiring.nodes[number].op in _KEEP_AXES)
    if node.op != "Einsum" or (product, 0) not in way:
        return LAST_BUT_ONE
    taken, put_out = _equation(node)
    alone = [at for at, label in enumerate(put_out[:-1]) if sum(label in one for one in taken) == 1]
    return alone[0] if len(alone) == 1 and "." not in put_out else LAST_BUT_ONE


def _common(layers: list[str | None]) -> str | None:
    """The innermost scope that holds all of them."""
    paths = [layer.split("/") if layer else [] for layer in layers]
    common: list[str] = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return "/".join(common) or None
