"""Attention as the graph has it: scores of data with data, a softmax, and a product of its weights with data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tensorsleuth.core.catalog import Frame, Node
from tensorsleuth.diagnose.graph.constant_folding import folded
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.trace.series.attention import Attention

PRODUCTS = frozenset(["BatchMatMulV2", "BatchMatMul", "BatchMatMulV3", "Einsum"])
SCALES = frozenset(["Mul", "RealDiv", "Div", "DivNoNan"])
MASKS = frozenset(["AddV2", "Add", "Sub", "SelectV2", "Select", "Cast", "Identity", "BiasAdd"])
ALONG = frozenset(["Identity", "IdentityN", "Cast", "StopGradient", "EnsureShape", "Snapshot"])
PARTS = frozenset(["Split", "SplitV", "StridedSlice", "Slice", "Unpack", "ConcatV2"])  # q, k and v out of one product
FAR = 12  # ops
MOST_LOOKS = 8
ANYWHERE = 0  # in the place of an axis, which is counted from the end: it is not known any more


class Taking(NamedTuple):
    """A product that takes the weights of an attention; axes of these are counted from the end."""

    spot: Spot
    one: int  # the axis along which weights sum to one
    summed: int  # the axis that it sums over
    queries: int  # the axis that is only the weights', and stays

    @property
    def is_right(self) -> bool:
        """Does it sum over what the softmax made sum to one; of an axis that was put together with others it may."""
        return self.one in (self.summed, ANYWHERE)


@dataclass(frozen=True)
class Attending:
    """One softmax, with what stands before and behind it."""

    softmax: Spot
    scores: Spot  # the product before it
    passed: frozenset[str]  # types of the ops between them
    products: tuple[Taking, ...]  # that take its weights

    @property
    def name(self) -> str:
        """Return the name of the op that computes the weights."""
        return self.softmax.described.name if self.softmax.described is not None else ""


def attention_of(training: Training) -> Iterator[Attending]:
    """All attention in the functions that train."""
    for softmax in training.forward(("Softmax",)):
        scores, passed = _scores(training, softmax)
        products = tuple(_products(training, softmax)) if scores is not None else ()
        if scores is not None and products:
            yield Attending(softmax, scores, frozenset(passed), products)


def seen_in_graph(training: Training, seen: Attention) -> Attending | None:
    """Return the recorded attention as it is in the graph; None if only a replay showed it."""
    named = ((one, one.softmax.described) for one in attention_of(training))
    return next((one for one, node in named if node is not None and node.name == seen.op), None)


def some_looks(seen: Attention) -> list[int]:
    """A few looks, the first and the last among them: weights of a long run are more than memory should hold."""
    return sorted({round(at) for at in np.linspace(0, len(seen) - 1, MOST_LOOKS)}) if len(seen) else []


def line_of(training: Training, seen: Attention) -> Frame | None:
    """The user's line of an attention."""
    one = seen_in_graph(training, seen)
    frame = training.frame(one.softmax) if one is not None else None
    return frame or (Frame(seen.file, seen.line, "") if seen.file and seen.line else None)


def is_scaled(training: Training, scores: Spot) -> bool:
    """Is what goes into the scores multiplied, divided or normalised on its way from the weights that made it."""
    level, seen = [scores], {scores}
    for _ in range(FAR):
        sources = {one for spot in level for slot in training.around.inputs(spot) for one in slot} - seen
        if any(one.type not in MASKS | PARTS and not _is_projection(training, one) for one in sources):
            return True
        seen |= sources
        level = [one for one in sources if one.type in MASKS | PARTS]
    return False


def _is_projection(training: Training, spot: Spot) -> bool:
    return spot.type == "Const" or spot.type == "ReadVariableOp" or training.takes_weights(spot)


def _scores(training: Training, softmax: Spot) -> tuple[Spot | None, set[str]]:
    """The product of data with data that a softmax is taken of, and what is done to it between."""
    level, passed = [softmax], set[str]()
    for _ in range(FAR):
        sources = [one for spot in level for slot in training.around.inputs(spot) for one in slot]
        found = next((one for one in sources if one.type in PRODUCTS and not training.takes_weights(one)), None)
        if found is not None:
            return found, passed
        level = [one for one in sources if one.type in MASKS | SCALES]
        passed |= {one.type for one in level}
    return None, passed


def _products(training: Training, softmax: Spot) -> Iterator[Taking]:
    """The products that take its weights, through transposes, casts and dropout."""
    function = softmax.function
    assert function is not None
    level = [(softmax.node, -1)]  # a node, and which of its axes sums to one, counted from the end
    for _ in range(FAR):
        following = []
        for source, axis in level:
            for number in training.moments.flow.users(function, source):
                user = Spot(function.nodes[number].type, softmax.instance, function, number)
                slot = [at for at, _ in function.nodes[number].inputs].index(source)
                if user.is_gradient:
                    continue
                if user.type in PRODUCTS and not training.takes_weights(user):
                    yield Taking(user, axis, *_axes(function.nodes[number], slot, axis))
                moved = _axis_behind(user, axis)
                following += [(number, moved)] if moved is not None else []
        level = following


def _axis_behind(user: Spot, axis: int) -> int | None:
    """Return the axis in an op's output; None if the op does not pass weights on."""
    assert user.function is not None
    node = user.function.nodes[user.node]
    if node.type == "Reshape" or axis == ANYWHERE:
        return ANYWHERE if node.type in ("Reshape", "Transpose") or _keeps(node) else None
    return axis if _keeps(node) else _moved(folded(user.function, _order(user)), axis)


def _keeps(node: Node) -> bool:
    """Keras's Softmax also picks after it, so that a row of which all is masked has no weight at all."""
    picks = node.type in ("SelectV2", "Select")
    return picks or node.type in ALONG or (node.type in ("Mul", "RealDiv") and "dropout" in node.name.lower())


def _order(spot: Spot) -> int:
    """The node that says in which order a transpose puts the axes; -1 where it is none."""
    node = spot.described
    return node.inputs[1][0] if node is not None and node.type == "Transpose" else -1


def _moved(order: list[int] | None, axis: int) -> int | None:
    if order is None or sorted(order) != list(range(len(order))) or -axis > len(order):
        return None
    return order.index(axis + len(order)) - len(order)


def _axes(node: Node, slot: int, axis: int) -> tuple[int, int]:
    """Return two axes of the operand that holds the weights: the summed one, and the one that only they have."""
    if node.type != "Einsum":
        turned = node.attrs.get("adj_x" if slot == 0 else "adj_y") is True
        return (-1, -2) if (slot == 0) != turned else (-2, -1)
    operands, _, result = str(node.attrs.get("equation", "")).replace("...", "").partition("->")
    names = operands.split(",")
    letters, others = (names[slot], names[1 - slot]) if len(names) == 2 else ("", "")
    summed = [at - len(letters) for at, letter in enumerate(letters) if letter not in result]
    alone = [at - len(letters) for at, letter in enumerate(letters) if letter in result and letter not in others]
    # What dots stand for is not told apart: the softmax is then taken to be right.
    right = axis if axis in summed or -axis > len(letters) or not summed else summed[-1]
    return right, alone[-1] if alone else 0
