"""Whole numbers that a graph computes from constants, as an order of axes is: what TensorFlow folds when it runs."""

from __future__ import annotations

from collections.abc import Callable

from tensorsleuth.model.catalog import Function

MAX_DEPTH = 20
MAX_LENGTH = 64  # more is no list of axes
Numbers = list[int]


def folded(function: Function, node: int, depth: int = 0) -> Numbers | None:
    """The numbers that a node puts out; None where they are not known before it runs."""
    if node < 0 or depth > MAX_DEPTH:
        return None
    described = function.nodes[node]
    if described.type == "Const":
        return _constant(described.attrs.get("value"))
    compute = _OPS.get(described.type)
    given = [folded(function, source, depth + 1) for source, _ in described.inputs] if compute is not None else []
    known = [one for one in given if one is not None]
    if compute is None or len(known) != len(given) or not known:
        return None
    return compute(known)


def _constant(value: object) -> Numbers | None:
    try:
        return [int(str(one)) for one in value] if isinstance(value, (list, tuple)) else None
    except ValueError:  # floats, texts
        return None


def _range(given: list[Numbers]) -> Numbers | None:
    if len(given) != 3 or any(len(one) != 1 for one in given) or not given[2][0]:
        return None
    (start,), (end,), (step,) = given
    return list(range(start, end, step))[:MAX_LENGTH]


def _each(combine: Callable[[int, int], int]) -> Callable[[list[Numbers]], Numbers | None]:
    def apply(given: list[Numbers]) -> Numbers | None:
        left, right = given if len(given) == 2 else ([], [])
        if len(right) == 1:
            right = right * len(left)
        return [combine(a, b) for a, b in zip(left, right, strict=True)] if len(left) == len(right) else None

    return apply


_OPS: dict[str, Callable[[list[Numbers]], Numbers | None]] = {
    "Range": _range,
    "Pack": lambda given: [number for one in given for number in one],
    "ConcatV2": lambda given: [number for one in given[:-1] for number in one],  # the last says along which axis
    "Sub": _each(lambda a, b: a - b),
    "AddV2": _each(lambda a, b: a + b),
    "Identity": lambda given: given[0],
}
