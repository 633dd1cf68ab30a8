"""The test that makes a softmax an attention: scores of keys that are data, values that are data, mixed by the weights.

The axis that the softmax runs over tells attention from a choice among classes, experts or entries of a table: it is
an axis of data, not one of a variable.
"""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.structure.graph_edges import Edges, Tensor
from tensorsleuth.recording.tensorflow import variables as tf_variables

_BATCHED = frozenset(["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"])
_PLAIN = frozenset(["MatMul"])
PRODUCTS = _BATCHED | _PLAIN | {"Einsum"}
SUM = "Sum"
MOVED = frozenset(["Cast", "Identity", "StopGradient", "Reshape", "Transpose", "ExpandDims", "Squeeze", "Snapshot"])
MOVED |= {"IdentityN"}  # behind what has a gradient of its own, as the dropout of DeBERTa
_CUT = frozenset(["Slice", "StridedSlice", "ConcatV2", "Pad", "PadV2"])
_MASKED = frozenset(["Select", "SelectV2", "Mul", "MulNoNan", "RealDiv", "Div"])
_SHIFTED = frozenset(["AddV2", "Add", "Sub", "BiasAdd", "Maximum", "Minimum", "ClipByValue", "Tanh"])
_BEFORE = MOVED | _CUT | _MASKED | _SHIFTED  # from scores to the softmax: scaled, capped, masked
_AFTER = MOVED | _CUT | _MASKED  # from the weights to the values: dropped out
KEEP_AXES = frozenset(["Cast", "Identity", "StopGradient", "Snapshot"]) | _MASKED | _SHIFTED
_SPREAD = MOVED | {"Slice", "StridedSlice", "BroadcastTo", "Tile"}  # of a variable: it is one still
_WIDENS = frozenset(["ExpandDims", "Reshape", "Transpose", "StridedSlice"])
_GIVEN = frozenset(["Const", "Range", "VariableV2"])


def scores_of(edges: Edges, start: Tensor) -> int | None:
    """The nearest node that compares queries with keys, from what a softmax takes."""
    for number, _ in edges.back(start, lambda number: edges.nodes[number].op in _BEFORE):
        if number >= 0 and (_compares(edges, number, start) or _adds_up(edges, number)):
            return number
    return None


def values_of(edges: Edges, weights: int) -> int | None:
    """The node that mixes values by the weights: a product, or the sum of what they multiply."""
    backward = edges.after_gradients
    way = edges.on((weights, 0), lambda number: edges.nodes[number].op in _AFTER and number not in backward)
    for (at, _), number in way:
        if number not in backward and (_mixes(edges, number) or _sums(edges, number, at, weights)):
            return number
    return None


def _compares(edges: Edges, number: int, start: Tensor) -> bool:
    """Is it a product of data with data; or with a variable that is the query, or does not reach the softmax's axis."""
    node, learned = edges.nodes[number], _learned(edges, number)
    if node.op not in PRODUCTS or len(learned) != 2 or all(learned):
        return False
    if not any(learned):
        return _is_batched(node)
    if node.op == "Einsum":
        taken, put_out = equation(node)
        from_data = put_out[-1:] in taken[learned.index(False)] and put_out[-1:] not in taken[learned.index(True)]
    else:
        from_data = learned[0]  # the columns are of the second
    return from_data or _is_turned(edges, number, start)


def _mixes(edges: Edges, number: int) -> bool:
    node = edges.nodes[number]
    return node.op in PRODUCTS and _is_batched(node) and not any(_learned(edges, number))


def _is_batched(node: Any) -> bool:
    """Does it multiply matrices of a batch."""
    if node.op != "Einsum":
        return node.op in _BATCHED
    taken, put_out = equation(node)
    return len(taken) == 2 and bool(set(taken[0]) & set(taken[1]) & set(put_out))


def _is_turned(edges: Edges, number: int, start: Tensor) -> bool:
    """Is the last axis of a product moved away, or taken off, before the softmax."""
    way = edges.back(start, lambda at: edges.nodes[at].op in _BEFORE and not _turns(edges.nodes[at]))
    return (number, 0) not in way


def _turns(node: Any) -> bool:
    shrinks = node.op == "StridedSlice" and bool(node.attr["shrink_axis_mask"].i)
    return shrinks or node.op in ("Transpose", "Squeeze")


def _adds_up(edges: Edges, number: int) -> bool:
    """Additive attention, sum(v * tanh(query + key)); and a product written out, sum(query * key)."""
    if edges.nodes[number].op != SUM or not edges.inputs[number]:
        return False
    source, _ = through(edges, edges.inputs[number][0], MOVED)
    return source >= 0 and edges.nodes[source].op in ("Mul", "Tanh")


def _sums(edges: Edges, number: int, source: int, weights: int) -> bool:
    """sum(weights * values), with an axis of the values that the weights have not got."""
    if edges.nodes[number].op != SUM or source < 0 or edges.nodes[source].op != "Mul":
        return False
    sides = edges.inputs[source][:2]
    ways = [list(edges.back(side, lambda at: edges.nodes[at].op in _AFTER and at != weights)) for side in sides]
    of_weights = [(weights, 0) in way for way in ways]
    if sum(of_weights) != 1:  # not that of another, nor the weights times what is made of them
        return False
    own, other = sides[of_weights.index(True)], sides[of_weights.index(False)]
    widened = edges.back(own, lambda at: edges.nodes[at].op in _AFTER - _WIDENS and at != weights)
    return (weights, 0) not in widened and not is_variable(edges, other) and not _comes_of(edges, other, weights)


def _comes_of(edges: Edges, tensor: Tensor, weights: int) -> bool:
    return (weights, 0) in edges.back(tensor, lambda number: True, most=64)


def _learned(edges: Edges, number: int) -> list[bool]:
    return [is_variable(edges, tensor) for tensor in edges.inputs[number]]


def is_variable(edges: Edges, tensor: Tensor) -> bool:
    """Is a tensor what a variable holds, or was given; a variable that the forward pass writes is a cache: data."""
    number, _ = through(edges, tensor, _SPREAD)
    if number < 0 or edges.nodes[number].op in _GIVEN:
        return number >= 0
    return edges.nodes[number].op == tf_variables.READ_VARIABLE and not _is_written(edges, number)


def _is_written(edges: Edges, read: int) -> bool:
    takers = edges.takers.get(edges.inputs[read][0], ()) if edges.inputs[read] else ()
    return any(ops.writes_variables(edges.nodes[one].op) and one not in edges.after_gradients for one in takers)


def through(edges: Edges, tensor: Tensor, passed: frozenset[str]) -> Tensor:
    """Return the source of a tensor, seen through nodes that pass on their first input."""
    for _ in range(len(edges.nodes)):
        if tensor[0] < 0 or edges.nodes[tensor[0]].op not in passed:
            break
        tensor = edges.inputs[tensor[0]][0]
    return tensor


def equation(node: Any) -> tuple[list[str], str]:
    """`bqhd,bkhd->bhqk`: what it takes, and what it puts out."""
    taken, _, put_out = node.attr["equation"].s.decode().replace(" ", "").replace("...", ".").partition("->")
    return taken.split(","), put_out
