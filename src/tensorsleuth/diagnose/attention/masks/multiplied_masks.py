"""Masks that attention scores are multiplied by before the softmax: masked keys get score 0, not −∞."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.catalog import Function
from tensorsleuth.core.dtypes import is_bool
from tensorsleuth.core.ops.elementwise import COMPARISONS_AND_NOT
from tensorsleuth.core.ops.kinds import SELECTS
from tensorsleuth.core.ops.masks import MASK_COMBINING_OPS, SCORE_OPS
from tensorsleuth.core.ops.views import FORWARDS, SIZE_AND_RANK_OPS, VALUE_PRESERVING
from tensorsleuth.diagnose.attention.attention_graph import MAX_HOPS_TO_SOFTMAX, AttentionOps, find_attention
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.trace.process.process import ProcessTrace


@dataclass(frozen=True)
class MultipliedMask:
    """Scores, times a mask of zeros and ones."""

    attention: AttentionOps
    product: OpNode
    is_fixed: bool  # hides some keys whatever the batch is, as a causal mask does


class MultipliedMasks:
    """The multiplied masks of all attention of a process, by the name of the softmax."""

    def __init__(self, process: ProcessTrace) -> None:
        found = (_find_multiplied(one) for one in find_attention(process.cached(TrainingGraph)))
        self.by_name = {one.attention.name: one for one in found if one is not None}

    def of_softmax(self, softmax: OpNode) -> MultipliedMask | None:
        return self.by_name.get(softmax.graph_node.name) if softmax.graph_node is not None else None


def _find_multiplied(one: AttentionOps) -> MultipliedMask | None:
    """Return the multiplied mask; None if a later op may hide keys as well."""
    function = one.softmax.function
    assert function is not None
    node = (
        function.nodes[one.softmax.node_index].inputs[0][0] if not _is_picked(function, one.softmax.node_index) else -1
    )
    for _ in range(MAX_HOPS_TO_SOFTMAX):
        if node < 0 or node == one.scores.node_index:
            return None
        described = function.nodes[node]
        masks = [source for source, _ in described.inputs if _is_mask(function, source)]
        if described.type == "Mul" and len(masks) == 1:
            return _multiplied_mask(one, function, node, masks[0])
        if described.type not in FORWARDS | {"Mul", "RealDiv"}:
            return None
        node = next(
            (source for source, _ in described.inputs if _comes_from_scores(function, source, one.scores.node_index)),
            -1,
        )
    return None


def _multiplied_mask(one: AttentionOps, function: Function, node: int, mask: int) -> MultipliedMask | None:
    """Return the mask of a product; None if it is dropout, or computed by the model."""
    sources, types = _all_sources(function, mask)
    if any("Random" in each or each in SCORE_OPS for each in types):
        return None
    is_fixed = "MatrixBandPart" in types or any(_compares_places(function, each) for each in sources)
    return MultipliedMask(one, OpNode("Mul", one.softmax.instance, function, node), is_fixed)


def _compares_places(function: Function, node: int) -> bool:
    """Return whether it compares positions with positions, as `places[:, None] >= places`, and no data."""
    if node < 0 or function.nodes[node].type not in COMPARISONS_AND_NOT:
        return False
    sides = [_all_sources(function, source) for source, _ in function.nodes[node].inputs]
    return all("Range" in types and min(sources) >= 0 for sources, types in sides)


def _is_picked(function: Function, softmax: int) -> bool:
    """Return whether weights are selected after the softmax, which hides keys as well."""
    takers = (node for node in function.nodes if node.forward is None and node.type in SELECTS)
    return any(source == softmax for node in takers for source, _ in node.inputs)


def _is_mask(function: Function, node: int, depth: int = 0) -> bool:
    """Return whether it is made to be 0 or 1."""
    if node < 0 or depth > MAX_HOPS_TO_SOFTMAX:
        return False
    described = function.nodes[node]
    if described.type == "Cast" and is_bool(int(described.attrs.get("SrcT") or 0)):
        return True
    given = [source for source, _ in described.inputs]
    if described.type == "MatrixBandPart":
        return _all_sources(function, given[0])[1] <= {
            "Const",
            "Fill",
            "OnesLike",
            "Pack",
            "Shape",
            "StridedSlice",
            "Cast",
        }
    if described.type == "Sub":
        return given[0] >= 0 and function.nodes[given[0]].type == "Const" and _is_mask(function, given[1], depth + 1)
    if described.type in MASK_COMBINING_OPS:
        return all(_is_mask(function, source, depth + 1) for source in given)
    return described.type in VALUE_PRESERVING and _is_mask(function, given[0], depth + 1)


def _comes_from_scores(function: Function, node: int, scores: int) -> bool:
    """Return whether it is the scores, or made of them."""
    return node >= 0 and (node == scores or scores in _all_sources(function, node)[0])


def _all_sources(function: Function, node: int) -> tuple[set[int], set[str]]:
    """Return all ancestors and their op types; sizes have none."""
    level, seen = {node}, {node}
    while level:
        made = [function.nodes[one] for one in level if one >= 0]
        level = {source for one in made if one.type not in SIZE_AND_RANK_OPS for source, _ in one.inputs} - seen
        seen |= level
    return seen, {function.nodes[one].type for one in seen if one >= 0}
