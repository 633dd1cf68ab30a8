"""The name of the checked thing, as it is written in the call."""

from __future__ import annotations

import ast
import linecache
from functools import cache

from tensorsleuth.recording.caller import Place

MOST_LINES = 12  # of one call
MOST_LETTERS = 40


@cache
def written_name(place: Place, function: str = "expect") -> str | None:
    """The first argument of the call at a place, `model(x)`; empty for a display, None where it cannot be read."""
    if place.file is None or place.line is None:
        return None
    lines = [linecache.getline(place.file, place.line + number) for number in range(MOST_LINES)]
    call = next((found for count in range(1, MOST_LINES + 1) if (found := _call(lines[:count], function))), None)
    if call is None or not call.args:
        return None
    if isinstance(call.args[0], ast.Dict | ast.List | ast.Tuple):
        return ""  # the path says which
    text = ast.unparse(call.args[0])
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _call(lines: list[str], function: str) -> ast.Call | None:
    text = "".join(lines).strip()
    for ending in ("", " pass", "\nfinally: pass"):  # of an `if` or a `with`, of a `try`
        try:
            tree = ast.parse(text + ending)
        except (SyntaxError, ValueError):
            continue
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_named(node.func, function)]
        return calls[0] if calls else None
    return None


def _is_named(called: ast.expr, function: str) -> bool:
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name == function
