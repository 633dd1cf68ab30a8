"""The reduction of all positions' losses to one number: a plain sum, or weighted and selected before."""

from __future__ import annotations

from collections.abc import Iterator, Set

from tensorsleuth.diagnose.graph.neighbours import Around, Spot

SUMS = frozenset(["Sum", "Mean"])
SIZES = frozenset(["Shape", "Size"])  # what a mean divides by
# How Hugging Face's losses tell labels that count: != -100, >= 0.
COUNTED = {"NotEqual": "-100", "GreaterEqual": "0"}
FAR = 4  # ops


def is_plain_sum(
    around: Around, loss: Spot, but_ignored: bool = False, even: Set[Spot] = frozenset(), depth: int = FAR
) -> bool:
    """Are the losses of all positions summed, with nothing that weighs or picks them.

    `but_ignored`: nothing other than whether a label counts at all. `even`: products that weigh all positions alike.
    """
    users = _takers(around, loss)
    return bool(users) and all(
        user.type in SUMS or (depth > 0 and _is_scaled_sum(around, user, but_ignored, even, depth)) for user in users
    )


def products(around: Around, losses: Spot, depth: int = FAR) -> Iterator[tuple[Spot, Spot]]:
    """Yield the factors of losses before the sum, with what they multiply."""
    for user in _takers(around, losses):
        if user.type == "Mul" and depth > 0:
            yield losses, user
            yield from products(around, user, depth - 1)


def summed_by(around: Around, loss: Spot) -> Spot:
    """The op that sums them; the loss itself where there is none."""
    level = [loss]
    for _ in range(FAR):
        level = [user for one in level for user in _takers(around, one)]
        found = next((user for user in level if user.type in SUMS), None)
        if found is not None:
            return found
    return loss


def _is_scaled_sum(around: Around, user: Spot, but_ignored: bool, even: Set[Spot], depth: int) -> bool:
    """Return whether one number scales the losses before the sum: without weights, Keras 2 takes 1."""
    sources = [one for slot in around.inputs(user) for one in slot]
    scaled = any(_is_number(one) or (but_ignored and _tells_ignored(around, one)) for one in sources)
    scaled = scaled or user in even
    return user.type == "Mul" and scaled and is_plain_sum(around, user, but_ignored, even, depth - 1)


def _tells_ignored(around: Around, weights: Spot) -> bool:
    """Return whether it is 1 where a label counts, else 0."""
    compared = [one for slot in around.inputs(weights) for one in slot]
    if weights.type != "Cast" or len(compared) != 1 or compared[0].type not in COUNTED:
        return False
    sides = [one for slot in around.inputs(compared[0]) for one in slot]
    return any(_is_number(one, COUNTED[compared[0].type]) for one in sides)


def _is_number(spot: Spot, value: str | None = None) -> bool:
    """Return whether it is one constant number, and this one."""
    node = spot.described
    if node is None or node.type != "Const" or node.attrs.get("shape") != []:
        return False
    return value is None or node.attrs.get("value") == [value]


def _takers(around: Around, spot: Spot) -> list[Spot]:
    return [user for user in around.after(spot) if user.type not in SIZES and not user.is_gradient]
