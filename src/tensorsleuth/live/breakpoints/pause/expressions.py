"""Slices and expressions over values, as typed in the debugger."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.threads.syntax import parse_expression

_HELPERS = {one.__name__: one for one in (abs, bool, float, int, len, list, max, min, range, round, sorted, sum, tuple)}


def slice_value(value: Array, text: str) -> Array:
    """Return a part of a value, given a slice such as `[0, :]`, `[..., -1]` or `[2:5]`."""
    text = text.strip()
    if not text:
        return value
    text = text if text.startswith("[") else f"[{text}]"
    try:
        tree = parse_expression(f"x{text}").body
        if not isinstance(tree, ast.Subscript) or not isinstance(tree.value, ast.Name):
            raise ValueError("it needs one pair of brackets")
        return np.asarray(value[_index(tree.slice)])
    except (SyntaxError, ValueError) as error:
        raise SleuthError(f"the slice {text!r} is not understood ({error}): write one such as [0, :].") from None
    except IndexError as error:
        raise SleuthError(f"the slice {text!r} does not fit the shape {list(value.shape)}: {error}.") from None


def _index(node: ast.expr) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(_index(item) for item in node.elts)
    if isinstance(node, ast.Slice):
        return slice(
            *(None if part is None else ast.literal_eval(part) for part in (node.lower, node.upper, node.step))
        )
    return ast.literal_eval(node)


def evaluate(expression: str, value: Array | None, named: Callable[[str], Array]) -> Any:
    """Evaluate an expression over `x` (the current tensor), `np`, and `value("name")` for other tensors."""
    try:
        tree = parse_expression(expression.strip())
    except SyntaxError as error:
        raise SleuthError(
            f"{expression!r} is not an expression: {error.msg}. Write one such as np.abs(x).max()."
        ) from None
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name.startswith("_"):
            raise SleuthError(f"{expression!r} uses {name!r}: names that begin with an underscore are not allowed.")
    builtins = {"__import__": __import__}  # NumPy imports some modules late; no expression can use this name
    names: dict[str, Any] = {"__builtins__": builtins, **_HELPERS, "np": np, "x": value, "value": named}
    try:
        with np.errstate(all="ignore"):
            return eval(compile(tree, "<expression>", "eval"), names)
    except SleuthError:
        raise
    except Exception as error:
        raise SleuthError(f"{expression!r} failed: {type(error).__name__}: {error}.") from None
