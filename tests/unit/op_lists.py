"""Finds collections of op names in a module, so that a test can keep them in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

OPS_TABLE = Path(__file__).resolve().parents[2] / "src" / "tensorsleuth" / "core" / "ops"


@cache
def known_ops() -> frozenset[str]:
    """Return every CamelCase string in the modules of core/ops, which are names of ops."""
    trees = [ast.parse(module.read_text()) for module in OPS_TABLE.glob("*.py")]
    found = (word for tree in trees for text in strings(tree) for word in text.split())
    return frozenset(word for word in found if re.fullmatch(r"_?[A-Z][a-z]\w*", word))


def strings(tree: ast.AST) -> Iterator[str]:
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def listed_ops(tree: ast.Module, known: frozenset[str]) -> Iterator[tuple[int, set[str]]]:
    """Collections of two or more op names outside of functions. A table that has code for each op is not one."""
    for node in outside_functions(tree):
        if isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict) or is_split(node):
            names = {word for text in texts_in(node) for word in text.split()} & known
            if len(names) > 1 and not has_code(node):
                yield getattr(node, "lineno", 0), names


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Everything in a module or class that runs when it is imported."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from outside_functions(child)


def is_split(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split"


def texts_in(node: ast.AST) -> Iterator[str]:
    """Strings that are elements of a collection, or its keys and values; the text that `split` divides."""
    parts = [*node.keys, *node.values] if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    parts = [node.func.value] if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else parts
    yield from (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def has_code(node: ast.AST) -> bool:
    """`{"Sqrt": math.sqrt}`, `("Split Pad", _first)`: values that are functions, or calls that make one."""
    parts = node.values if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return any(isinstance(part, ast.Lambda | ast.Name | ast.Attribute | ast.Call) for part in parts)
