"""Values of a tensor: the requested part, as text that fits."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.threads.syntax import parse_expression

MAX_PRINTED = 1000  # printed in full; of a larger tensor, only the edges
MAX_PRINTED_ALL = 200_000  # printed with --all
IN_RANGE_MARK = "*"  # after a value that lies in a requested range


def parse_slice(text: str) -> tuple[int | slice, ...]:
    """Parse `[0, :, 3]` into a NumPy index, without executing it."""
    try:
        node = parse_expression(f"x{text}").body
        assert isinstance(node, ast.Subscript)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return tuple(_part(part) for part in parts)
    except (SyntaxError, ValueError, TypeError, AssertionError, RecursionError, MemoryError) as error:
        raise SleuthError(f"{text!r} is not a slice. For example: [0, :, 3] or [::2]") from error


def _part(node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if bound is None else int(ast.literal_eval(bound)) for bound in bounds))
    value = ast.literal_eval(node)
    if value is not Ellipsis and not isinstance(value, int):
        raise ValueError(value)
    return value


def take_slice(value: Array, text: str) -> Array:
    """Return a part of a value."""
    if not text:
        return value
    try:
        return np.asarray(value[parse_slice(text)])
    except (IndexError, ValueError) as error:
        raise SleuthError(f"{text} does not fit a tensor of shape {list(value.shape)}: {error}.") from error


def parse_ranges(text: str | None) -> list[tuple[float, float]]:
    """Parse `[0, 1]` or `[[-inf, -5], [5, inf]]`, as tfdbg takes them."""
    if not text:
        return []
    try:
        words = text.replace("inf", "1e999")
        found = ast.literal_eval(words)
        pairs = [found] if found and not isinstance(found[0], list | tuple) else found
        return [(float(low), float(high)) for low, high in pairs]
    except (SyntaxError, ValueError, TypeError) as error:
        raise SleuthError(
            f"{text!r} is not a range. For example: -r '[0, 1]' or -r '[[-inf, -5], [5, inf]]'"
        ) from error


def in_ranges(value: Array, ranges: list[tuple[float, float]]) -> Array:
    """Return which elements are in one of the ranges."""
    found = np.zeros(value.shape, bool)
    for low, high in ranges:
        found |= (value >= low) & (value <= high)
    return found


def format_array(value: Array, ranges: list[tuple[float, float]], everything: bool, width: int) -> str:
    """Return an array as NumPy prints it, with values in a range marked."""
    if everything and value.size > MAX_PRINTED_ALL:
        raise SleuthError(
            f"--all prints at most {MAX_PRINTED_ALL:,} values, but there are {value.size:,}. Take a slice: [0:10]"
        )
    threshold = MAX_PRINTED_ALL + 1 if everything else MAX_PRINTED
    return np.array2string(
        value, max_line_width=width, threshold=threshold, separator=", ", formatter=_marked(value, ranges)
    )


def _marked(value: Array, ranges: list[tuple[float, float]]) -> Any:
    if not ranges or value.dtype.kind not in "fiu":
        return None
    plain: Callable[[Any], str] = (lambda x: f"{x:.6g}") if value.dtype.kind == "f" else str
    return {"all": lambda x: plain(x) + (IN_RANGE_MARK if any(low <= x <= high for low, high in ranges) else "")}
