"""By how much attention scores are multiplied on their way from the projections to the softmax."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.diagnose.attention.attention_graph import MASKS, SCALES, Attending
from tensorsleuth.diagnose.attention.heads.head_axes import MOVES
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.shapes import BATCHED, SizesOf, letters_of
from tensorsleuth.diagnose.graph.training import PRODUCTS, Training

FAR = 16  # ops
DIVIDES = SCALES - {"Mul"}


@dataclass(frozen=True)
class Scaling:
    """An op that multiplies by one number, or divides by it."""

    spot: Spot
    number: float
    factor: float  # what it multiplies by
    is_after: bool  # after the product of queries with keys


class ScoreScale:
    """The scale of one attention's scores."""

    def __init__(self, training: Training, one: Attending) -> None:
        assert one.softmax.function is not None
        assert one.softmax.instance is not None
        self._training, self._one, self._function = training, one, one.softmax.function
        self._instance = one.softmax.instance
        self._sizes = training.process.once(SizesOf).at(one.softmax)

    @property
    def depth(self) -> int | None:
        """Return the number of products that a score is the sum of."""
        node = self._function.nodes[self._one.scores.node]
        shape = self._sizes.of(node.inputs[0][0]) or ()
        if node.type in BATCHED:
            return shape[-2 if node.attrs.get("adj_x") else -1] if len(shape) > 1 else None
        taken, made = letters_of(node)
        pairs = zip(taken[0], shape, strict=False)
        summed = [size for letter, size in pairs if letter in taken[1] and letter not in made]
        return math.prod(summed) if summed and len(shape) == len(taken[0]) else None

    def scalings(self) -> list[Scaling] | None:
        """All of them; None where something else multiplies, as a norm or a temperature that is learned."""
        nodes, scores = self._function.nodes, self._one.scores.node
        after = self._way(nodes[self._one.softmax.node].inputs[0][0], lambda node: node == scores)
        sides = [self._way(source, self._is_projection) for source, _ in nodes[scores].inputs]
        if after is None or any(side is None for side in sides):
            return None
        found = [*self._along(after, True), *(one for side in sides for one in self._along(side or [], False))]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    def _is_projection(self, node: int) -> bool:
        spot = self._spot(node)
        return spot.type in PRODUCTS and self._training.takes_weights(spot)

    def _way(self, node: int, is_end: Callable[[int], bool], depth: int = 0) -> list[tuple[int, int]] | None:
        """The nodes from here back to the end, and which input of each the way goes on with."""
        if node < 0 or depth > FAR:
            return None
        if is_end(node):
            return []
        described = self._function.nodes[node]
        if described.type not in MASKS | SCALES | VIEWS | MOVES | {"Split", "SplitV"}:
            return None
        for slot, (source, _) in enumerate(described.inputs):
            way = self._way(source, is_end, depth + 1)
            if way is not None:
                return [(node, slot), *way]
        return None

    def _along(self, way: list[tuple[int, int]], is_after: bool) -> Iterator[Scaling | None]:
        for node, slot in way:
            described = self._function.nodes[node]
            if described.type in SCALES:
                number = self._number(described.inputs[1 - slot][0])
                divides = described.type in DIVIDES
                if number is None or not math.isfinite(number) or (divides and (slot == 1 or not number)):
                    yield None
                else:
                    yield Scaling(self._spot(node), number, 1 / number if divides else number, is_after)

    def _number(self, node: int, depth: int = 0) -> float | None:
        """Return the output of a node that is one number, computed from constants and sizes."""
        if node < 0 or depth > FAR:
            return None
        described = self._function.nodes[node]
        if described.type == "Const":
            return _constant(described.attrs.get("value"))
        compute = _OPS.get(described.type)
        if compute is None:
            whole = self._sizes.numbers(node)
            return float(whole[0]) if whole is not None and len(whole) == 1 else None
        given = [self._number(source, depth + 1) for source, _ in described.inputs]
        known = [one for one in given if one is not None]
        try:
            return compute(*known) if len(known) == len(given) else None
        except (ArithmeticError, ValueError, TypeError):  # a root of what is negative, another count of inputs
            return None

    def _spot(self, node: int) -> Spot:
        return Spot(self._function.nodes[node].type, self._instance, self._function, node)


def _constant(value: object) -> float | None:
    try:
        return float(str(value[0])) if isinstance(value, (list, tuple)) and len(value) == 1 else None
    except ValueError:
        return None


_OPS: dict[str, Callable[..., float]] = {
    "Cast": lambda a: a,
    "Identity": lambda a: a,
    "Sqrt": math.sqrt,
    "Rsqrt": lambda a: 1 / math.sqrt(a),
    "Reciprocal": lambda a: 1 / a,
    "Mul": lambda a, b: a * b,
    "RealDiv": lambda a, b: a / b,
    "Pow": lambda a, b: float(a**b),
}
