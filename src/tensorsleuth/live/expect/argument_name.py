"""The checked argument as the program's source writes it."""

from __future__ import annotations

import ast
import linecache
from functools import cache

from tensorsleuth.core.threads.syntax import parse_module
from tensorsleuth.recording.calling_line import ProgramLine

MAX_CALL_LINES = 12  # the most source lines of one call
MAX_NAME_CHARS = 40


@cache
def written_name(program_line: ProgramLine, function: str = "expect") -> str | None:
    """Return the call's first argument, such as `model(x)`; "" for a literal list or dict, None if unreadable."""
    if program_line.file is None or program_line.line is None:
        return None
    lines = [linecache.getline(program_line.file, program_line.line + number) for number in range(MAX_CALL_LINES)]
    call = next((found for count in range(1, MAX_CALL_LINES + 1) if (found := _call(lines[:count], function))), None)
    if call is None or not call.args:
        return None
    if isinstance(call.args[0], ast.Dict | ast.List | ast.Tuple):
        return ""  # the path within the literal names the leaf
    text = ast.unparse(call.args[0])
    return text if len(text) <= MAX_NAME_CHARS else f"{text[: MAX_NAME_CHARS - 1]}…"


def _call(lines: list[str], function: str) -> ast.Call | None:
    text = "".join(lines).strip()
    for ending in ("", " pass", "\nfinally: pass"):  # completes an `if` or `with` line, or a `try`
        try:
            tree = parse_module(text + ending)
        except (SyntaxError, ValueError):
            continue
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_named(node.func, function)]
        return calls[0] if calls else None
    return None


def _is_named(called: ast.expr, function: str) -> bool:
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name == function
