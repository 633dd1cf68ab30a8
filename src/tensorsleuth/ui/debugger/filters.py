"""Filters of tensors: `has_inf_or_nan`, `max > 1e4 and op == 'MatMul'`.

An expression is parsed with Python's grammar and computed on columns, node by node. Nothing is ever executed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.threads.syntax import parse_expression
from tensorsleuth.trace.query.tensors import Tensors

MAX_FILTER_LENGTH = 1000  # a longer expression could exhaust the stack


def _count_column(name: str) -> Callable[[Tensors], Array]:
    """Return counts as floats, with NaN if the mode did not count, so that no comparison holds."""

    def column(tensors: Tensors) -> Array:
        counts = tensors.health[name]
        return np.where(counts < 0, np.nan, counts)

    return column


def _health_column(name: str) -> Callable[[Tensors], Array]:
    return lambda tensors: tensors.health[name]


def _norm(tensors: Tensors) -> Array:
    """Return the L2 norm of the finite values, from their mean and deviation (mode FULL_NUMERICS and up)."""
    health = tensors.health
    finite = np.maximum(health["neg"], 0) + np.maximum(health["zero"], 0) + np.maximum(health["pos"], 0)
    return np.asarray(np.sqrt(finite * (health["mean"] ** 2 + health["std"] ** 2)))


FILTER_COLUMNS: dict[str, Callable[[Tensors], Array]] = {
    "has_inf_or_nan": lambda tensors: tensors.health["bad"],
    "bad": lambda tensors: tensors.health["bad"],
    **{name: _count_column(name) for name in ("nan", "neg_inf", "pos_inf", "neg", "zero", "pos")},
    "inf": lambda tensors: _count_column("neg_inf")(tensors) + _count_column("pos_inf")(tensors),
    **{name: _health_column(name) for name in ("min", "max", "mean", "std", "step", "iteration", "dtype")},
    "abs_max": lambda tensors: np.maximum(np.abs(tensors.health["min"]), np.abs(tensors.health["max"])),
    "norm": _norm,
    "gradient": lambda tensors: tensors.words(lambda op: op.differentiates is not None).astype(bool),
    "grad_norm": lambda tensors: np.where(FILTER_COLUMNS["gradient"](tensors), _norm(tensors), np.nan),
    "size": _count_column("elements"),
    "op": lambda tensors: tensors.words("op"),
    "name": lambda tensors: tensors.words("name"),
    "layer": lambda tensors: tensors.words("layer"),
    "line": lambda tensors: tensors.words(lambda op: op.line or -1).astype(np.int64),
}

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMBINE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def join_words(words: list[str] | None) -> str | None:
    """Return the filter that was typed as one quoted word, or as several words, whose quotes then belong to it."""
    if not words:
        return None
    return words[0] if len(words) == 1 else " ".join(getattr(word, "raw", word) for word in words)


def parse_filter(text: str) -> ast.expr:
    """Return the parsed filter, or raise an error that says what is wrong with it."""
    try:
        if len(text) > MAX_FILTER_LENGTH:
            raise SyntaxError(f"longer than {MAX_FILTER_LENGTH} characters")
        tree = parse_expression(text.strip()).body
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):  # the whole filter is quoted
            tree = parse_expression(tree.value.strip()).body
    except (SyntaxError, ValueError) as error:
        raise SleuthError(f"filter {text!r} cannot be read: {error.args[0]}. For example: nan > 0") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in FILTER_COLUMNS:
            raise SleuthError(f"filter {text!r}: unknown name {node.id!r}. The names are {', '.join(FILTER_COLUMNS)}.")
    return tree


def evaluate_filter(text: str, tensors: Tensors) -> Array:
    """Return for each tensor whether the filter holds."""
    tree = parse_filter(text)
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(_value(tree, tensors))
            return np.broadcast_to(found.astype(bool), (len(tensors),))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise SleuthError(f"filter {text!r} cannot be computed: {error}. Compare numbers to numbers.") from error


def _value(node: ast.expr, tensors: Tensors) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return FILTER_COLUMNS[name](tensors)
        case ast.BoolOp(op=kind, values=values):
            combine = np.logical_and if isinstance(kind, ast.And) else np.logical_or
            return combine.reduce([_truth(value, tensors) for value in values])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ~_truth(operand, tensors)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, tensors)
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _COMBINE:
            return _COMBINE[type(kind)](_value(left, tensors), _value(right, tensors))
        case ast.Compare(left=left, ops=kinds, comparators=others):
            return _compared([left, *others], kinds, tensors)
        case _:
            raise TypeError(f"{ast.unparse(node)} is not allowed in a filter")


def _truth(node: ast.expr, tensors: Tensors) -> Array:
    return np.broadcast_to(np.asarray(_value(node, tensors)).astype(bool), (len(tensors),))


def _compared(parts: list[ast.expr], kinds: list[ast.cmpop], tensors: Tensors) -> Array:
    """Return the result of a chained comparison such as `0 < max < 1`; `'dense' in name` searches in a text."""
    values = [_value(part, tensors) for part in parts]
    found = [_compare_pair(kind, left, right) for kind, left, right in zip(kinds, values, values[1:])]
    return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*found)))


def _compare_pair(kind: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(kind, ast.In | ast.NotIn):
        if not isinstance(left, str):
            raise TypeError("'in' searches for a text, as in 'dense' in name")
        inside = np.array([left in str(text) for text in np.atleast_1d(right)], bool)
        return inside if isinstance(kind, ast.In) else ~inside
    if type(kind) not in _COMPARE:
        raise TypeError("compare with <, <=, ==, !=, >=, > or in")
    return _COMPARE[type(kind)](left, right)
