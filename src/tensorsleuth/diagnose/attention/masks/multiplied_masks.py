"""Masks of attention that scores are multiplied by before the softmax: what is hidden gets score 0, not −∞."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.catalog import Function
from tensorsleuth.core.dtypes import is_bool
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.diagnose.attention.attention_graph import ALONG, FAR, PRODUCTS, Attending, attention_of
from tensorsleuth.diagnose.attention.masks.mask_path import COMPARES
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.trace.process.process import ProcessTrace

SAME = ALONG | VIEWS | {"StridedSlice", "Tile", "BroadcastTo"}
TOGETHER = frozenset(["Mul", "Minimum", "Maximum"])
PICKS = frozenset(["SelectV2", "Select"])
SIZES = frozenset(["Shape", "Size", "Rank"])
COMPUTED = PRODUCTS | {"MatMul", "Softmax"}  # a mask of these chooses among scores


@dataclass(frozen=True)
class Multiplied:
    """Scores, times a mask of zeros and ones."""

    one: Attending
    product: Spot
    is_fixed: bool  # hides some keys whatever the batch is, as a causal mask does


class MultipliedMasks:
    """The multiplied masks of all attention of a process, by the name of the softmax."""

    def __init__(self, process: ProcessTrace) -> None:
        found = (_multiplied(one) for one in attention_of(process.once(Training)))
        self.all = {one.one.name: one for one in found if one is not None}

    def of(self, softmax: Spot) -> Multiplied | None:
        return self.all.get(softmax.described.name) if softmax.described is not None else None


def _multiplied(one: Attending) -> Multiplied | None:
    """None where anything may hide keys after it: what is added or picked later, or weights that are picked."""
    function = one.softmax.function
    assert function is not None
    node = function.nodes[one.softmax.node].inputs[0][0] if not _is_picked(function, one.softmax.node) else -1
    for _ in range(FAR):
        if node < 0 or node == one.scores.node:
            return None
        described = function.nodes[node]
        masks = [source for source, _ in described.inputs if _is_mask(function, source)]
        if described.type == "Mul" and len(masks) == 1:
            return _of(one, function, node, masks[0])
        if described.type not in ALONG | {"Mul", "RealDiv"}:
            return None
        node = next((source for source, _ in described.inputs if _leads(function, source, one.scores.node)), -1)
    return None


def _of(one: Attending, function: Function, node: int, mask: int) -> Multiplied | None:
    """None where the mask is dropout, or is made of what the model computes."""
    sources, types = _before(function, mask)
    if any("Random" in each or each in COMPUTED for each in types):
        return None
    is_fixed = "MatrixBandPart" in types or any(_compares_places(function, each) for each in sources)
    return Multiplied(one, Spot("Mul", one.softmax.instance, function, node), is_fixed)


def _compares_places(function: Function, node: int) -> bool:
    """`places[:, None] >= places`: numbers of positions on both sides, and nothing of a batch."""
    if node < 0 or function.nodes[node].type not in COMPARES:
        return False
    sides = [_before(function, source) for source, _ in function.nodes[node].inputs]
    return all("Range" in types and min(sources) >= 0 for sources, types in sides)


def _is_picked(function: Function, softmax: int) -> bool:
    """Are weights picked after the softmax, which hides keys as well."""
    takers = (node for node in function.nodes if node.forward is None and node.type in PICKS)
    return any(source == softmax for node in takers for source, _ in node.inputs)


def _is_mask(function: Function, node: int, depth: int = 0) -> bool:
    """Return whether it is made to be 0 or 1."""
    if node < 0 or depth > FAR:
        return False
    described = function.nodes[node]
    if described.type == "Cast" and is_bool(int(described.attrs.get("SrcT") or 0)):
        return True
    given = [source for source, _ in described.inputs]
    if described.type == "MatrixBandPart":
        return _before(function, given[0])[1] <= {"Const", "Fill", "OnesLike", "Pack", "Shape", "StridedSlice", "Cast"}
    if described.type == "Sub":
        return given[0] >= 0 and function.nodes[given[0]].type == "Const" and _is_mask(function, given[1], depth + 1)
    if described.type in TOGETHER:
        return all(_is_mask(function, source, depth + 1) for source in given)
    return described.type in SAME and _is_mask(function, given[0], depth + 1)


def _leads(function: Function, node: int, scores: int) -> bool:
    """Return whether it is the scores, or made of them."""
    return node >= 0 and (node == scores or scores in _before(function, node)[0])


def _before(function: Function, node: int) -> tuple[set[int], set[str]]:
    """All that it is made of, and the types of these ops; sizes are made of nothing."""
    level, seen = {node}, {node}
    while level:
        made = [function.nodes[one] for one in level if one >= 0]
        level = {source for one in made if one.type not in SIZES for source, _ in one.inputs} - seen
        seen |= level
    return seen, {function.nodes[one].type for one in seen if one >= 0}
