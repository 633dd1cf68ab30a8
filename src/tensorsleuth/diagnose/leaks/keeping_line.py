"""The line that keeps a value that another line made, found in the source by the names of the value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tensorsleuth.core.catalog import Catalogue, Frame, Site
from tensorsleuth.core.threads.syntax import parse_module

KEEPING_METHODS = frozenset(["append", "appendleft", "extend", "add", "insert", "put", "setdefault", "update", "push"])
Block = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


def find_keeping_line(catalogue: Catalogue, site: Site) -> Frame | None:
    """Return the line that stores the value of a site, or a value returned from it; None if there is none."""
    for frame in reversed(site.frames[: site.user_index + 1]):
        text = catalogue.sources.get(frame.file)
        line = _keeping_line(text, frame.line) if text is not None else None
        if line is not None:
            return Frame(frame.file, line, frame.function)
    return None


@cache
def _keeping_line(text: str, line: int) -> int | None:
    try:
        tree = parse_module(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    block = _block_around(tree, line)
    if _is_cached(block):
        return block.lineno if isinstance(block, ast.FunctionDef) else None
    statements = [one for one in _statements(block) if one.lineno <= line <= (one.end_lineno or one.lineno)]
    if not statements:
        return None
    made = statements[-1]  # the innermost
    if _keeps(made):
        return made.lineno
    names = {target.id for target in _targets(made) if isinstance(target, ast.Name)}
    keeping = (one for one in _statements(block) if _keeps(one) and names & _names(one))
    return next((one.lineno for one in keeping), None)


def _block_around(tree: ast.Module, line: int) -> Block:
    """Return the innermost function around a line, else the module."""
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    around = [one for one in functions if one.lineno <= line <= (one.end_lineno or one.lineno)]
    return max(around, key=lambda one: one.lineno, default=tree)


def _is_cached(block: Block) -> bool:
    """Return whether a decorator such as functools.cache keeps the results."""
    decorators = [] if isinstance(block, ast.Module) else block.decorator_list
    return any("cache" in ast.unparse(one) and "maxsize" not in ast.unparse(one) for one in decorators)


def _statements(block: Block) -> Iterator[ast.stmt]:
    """Yield the statements of a block that hold no others, in order, without those of functions in it."""
    waiting: list[ast.AST] = list(reversed(block.body))
    while waiting:
        one = waiting.pop()
        inner = [child for child in ast.iter_child_nodes(one) if isinstance(child, ast.stmt | ast.excepthandler)]
        if isinstance(one, ast.stmt) and not inner:
            yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting.extend(reversed(inner))


def _targets(statement: ast.stmt) -> list[ast.expr]:
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    return [
        inner for one in targets if one is not None for inner in (one.elts if isinstance(one, ast.Tuple) else [one])
    ]


def _keeps(statement: ast.stmt) -> bool:
    """Return whether it puts something into a container: `x.append(…)`, `x[…] = …`, `x += […]`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.List | ast.Tuple):
        return True
    if any(isinstance(target, ast.Subscript) for target in _targets(statement)):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in KEEPING_METHODS


def _names(statement: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
