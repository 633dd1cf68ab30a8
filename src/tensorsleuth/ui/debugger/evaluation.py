"""`eval`: NumPy on recorded values.

A trace may be hostile. Its names stand in backquotes and are looked up, never executed. The expression is the user's
own, but still gets nothing but NumPy: no builtins, no functions that open files.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.threads.syntax import parse_expression

_BACKQUOTED = re.compile(r"`([^`]+)`")
_FORBIDDEN_NAMES = re.compile(
    r"^_|^(load|save|open|from(file|regex)|genfromtxt|tofile|dump|memmap|ctypes|format|DataSource|get_include|show_|info$)"
)
_BUILTINS = {"abs": abs, "min": min, "max": max, "sum": sum, "len": len, "round": round, "int": int, "float": float,
          "bool": bool, "True": True, "False": False}  # fmt: skip
_ALLOWED_NODES = (
    ast.Expression, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.BinOp, ast.UnaryOp,
    ast.BoolOp, ast.Compare, ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Slice, ast.Name, ast.Constant,
    ast.Tuple, ast.List, ast.IfExp, ast.Starred,
)  # fmt: skip


def _without_files(module: Any) -> SimpleNamespace:
    """Return a part of NumPy without submodules and without functions that read or write files."""
    kept = {name: getattr(module, name) for name in module.__all__ if not _FORBIDDEN_NAMES.match(name)}
    return SimpleNamespace(**{name: value for name, value in kept.items() if not hasattr(value, "__path__")})


def _numpy() -> SimpleNamespace:
    np_ = _without_files(np)
    np_.linalg, np_.fft = _without_files(np.linalg), _without_files(np.fft)
    for name in ("char", "ctypeslib", "rec", "testing", "ma", "random", "lib", "core", "emath", "strings", "test"):
        vars(np_).pop(name, None)
    return np_


def evaluate(expression: str, value_of: Callable[[str], Any]) -> Any:
    """Compute an expression; `value_of` returns the value of a name in backquotes."""
    names: dict[str, str] = {}
    text = _BACKQUOTED.sub(lambda found: names.setdefault(found[1], f"tensor{len(names)}"), expression)
    tree = _parse_checked(text, expression, {*names.values()})
    values = {placeholder: value_of(name) for name, placeholder in names.items()}
    builtins = {"__import__": __import__}  # for late imports inside NumPy; no expression can name it
    scope = {"__builtins__": builtins, "np": _numpy(), **_BUILTINS, **values}
    try:
        with np.errstate(all="ignore"):
            return eval(compile(tree, "<eval>", "eval"), scope)
    except Exception as error:
        raise SleuthError(f"{expression} failed: {type(error).__name__}: {error}") from error


def live_expression(expression: str) -> str:
    """Return the expression for a live program, where the paused tensor is `x` and others are `value("name")`."""
    return _BACKQUOTED.sub(lambda found: f"value({found[1]!r})", expression)


def _parse_checked(text: str, expression: str, placeholders: set[str]) -> ast.Expression:
    try:
        tree = parse_expression(text.strip())
    except (SyntaxError, ValueError) as error:
        hint = "Write tensors in backquotes: np.max(`Log:0`)"
        raise SleuthError(f"{expression!r} cannot be read: {error.args[0]}. {hint}") from error
    for node in ast.walk(tree):
        wrong = _refusal(node, placeholders)
        if wrong:
            raise SleuthError(
                f"{expression!r}: {wrong}. You can use np, {', '.join(_BUILTINS)}, and tensors in backquotes."
            )
    return tree


def _refusal(node: ast.AST, placeholders: set[str]) -> str | None:
    if not isinstance(node, _ALLOWED_NODES):
        return f"{type(node).__name__} is not allowed here"
    if isinstance(node, ast.Name) and node.id not in {"np", *_BUILTINS, *placeholders}:
        return f"{node.id!r} is unknown"
    if isinstance(node, ast.Attribute) and _FORBIDDEN_NAMES.match(node.attr):
        return f".{node.attr} is not allowed here"
    return None
