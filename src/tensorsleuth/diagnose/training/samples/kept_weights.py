"""The text of a program that keeps the weights of its best validation, in callbacks or in its own loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.expressions import Expressions, walk_source
from tensorsleuth.trace.process.process import ProcessTrace

KEEPING_ARGUMENTS = ("save_best_only", "restore_best_weights")  # of Keras's ModelCheckpoint and EarlyStopping
SAVING_CALLS = frozenset(["get_weights", "save", "save_model", "save_weights", "write"])


def keeps_best_weights(process: ProcessTrace, frame: Frame | None) -> bool:
    """Return whether callbacks of a `fit` in this line, or a comparison before a save, keep the best weights."""
    if frame is None:
        return False
    callbacks = process.cached(Expressions).keyword(frame, ("callbacks",))
    nodes = list(walk_source(process.catalogue.sources.get(frame.file, "")))
    if callbacks is None:
        return any(_saves_if_better(node) for node in nodes)
    return any(_keeps(node) for value in _values(callbacks.value, nodes) for node in ast.walk(value))


def _values(callbacks: ast.expr, nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """Yield the callbacks, and all that the program assigns to their names or appends to them, or returns as them."""
    yield callbacks
    names = {node.id for node in ast.walk(callbacks) if isinstance(node, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id in names for target in targets):
                yield node.value
        elif _gives(node) in names:
            yield node


def _gives(node: ast.AST) -> str:
    """Return the name of a function that returns callbacks, or of a list that a method adds some to."""
    if isinstance(node, ast.FunctionDef):
        return node.name
    function = node.func if isinstance(node, ast.Call) else None
    owner = function.value if isinstance(function, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) else ""


def _keeps(node: ast.AST) -> bool:
    """Return whether it is a callback that keeps the best weights, or may do so."""
    keywords = node.keywords if isinstance(node, ast.Call) else []
    given = [one.value for one in keywords if one.arg in KEEPING_ARGUMENTS]
    return any(not isinstance(value, ast.Constant) or bool(value.value) for value in given)


def _saves_if_better(node: ast.AST) -> bool:
    """Return whether it is a branch that compares numbers and saves weights."""
    if not isinstance(node, ast.If):
        return False
    compared = (one for one in ast.walk(node.test) if isinstance(one, ast.Compare))
    has_order = any(isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for one in compared for sign in one.ops)
    calls = (one for part in node.body for one in ast.walk(part) if isinstance(one, ast.Call))
    return has_order and any(isinstance(one.func, ast.Attribute) and one.func.attr in SAVING_CALLS for one in calls)
