"""The line that made an optimizer or a layer before the recording began, read in the program's text.

Nothing was noted of it then. A name in the line that uses it leads there, if it can stand for one expression only.
A `name="…"` that one call alone gives does so too. Otherwise the line that uses it stays the one to show.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.expressions import Expressions, span_of
from tensorsleuth.diagnose.nan.array_source import assigned_value
from tensorsleuth.trace.process.process import ProcessTrace

_UPDATES = ("apply_gradients", "apply", "minimize")  # methods of an optimizer
_FITS = ("fit", "train_on_batch")  # methods of a model that was compiled


def optimizer_made_before(process: ProcessTrace, used: Frame | None) -> Frame | None:
    """Return the expression that made the optimizer that a line uses; None if something of it was noted, or unclear."""
    if used is None or any(one.kind in ("optimizer", "compile") for one in process.catalogue.creations):
        return None
    expressions = process.cached(Expressions)
    found = [made for call in expressions.calls(used) if (made := _optimizer_of(process, call, used)) is not None]
    return found[0] if len(found) == 1 else None


def layer_made_before(process: ProcessTrace, name: str, used: Frame | None) -> Frame | None:
    """Return the only call of the program that gives a layer this name."""
    expressions = process.cached(Expressions)
    found = [(file, call) for file in process.catalogue.sources for call in expressions.all_calls(file)]
    named = [(file, call) for file, call in found if _is_class(call) and _text(_keyword(call, "name")) == name]
    if len(named) != 1:
        return None
    file, call = named[0]
    return Frame(file, call.lineno, "?", span_of(call), shown_at=used)


def _optimizer_of(process: ProcessTrace, call: ast.Call, used: Frame) -> Frame | None:
    method = call.func
    if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Name):
        return None
    if method.attr in _UPDATES:
        return _value_of(process, method.value, used)
    if method.attr not in _FITS:
        return None
    compiled = [_keyword(one, "optimizer") for one in _calls_of(process, used.file, method.value.id, "compile")]
    value = compiled[0] if len(compiled) == 1 else None
    return _value_of(process, value, used) if value is not None else None


def _value_of(process: ProcessTrace, value: ast.expr, used: Frame) -> Frame | None:
    """Return the constructor's call that an expression is, or that its name stands for."""
    function = used.function
    if isinstance(value, ast.Name):
        known = assigned_value(process.catalogue.sources.get(used.file, ""), value.id, max(used.line, value.lineno))
        if known is None:
            return None
        value, function = known.node, known.function
    if not isinstance(value, ast.Call) or not _is_class(value):
        return None
    return replace(Frame(used.file, value.lineno, function), span=span_of(value), shown_at=used)


def _calls_of(process: ProcessTrace, file: str, name: str, method: str) -> Iterator[ast.Call]:
    for call in process.cached(Expressions).all_calls(file):
        func = call.func
        is_method = isinstance(func, ast.Attribute) and func.attr == method
        if isinstance(func, ast.Attribute) and is_method and getattr(func.value, "id", None) == name:
            yield call


def _is_class(call: ast.Call) -> bool:
    """Return whether it makes an object: classes begin with a capital letter."""
    func = call.func
    leaf = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    return leaf[:1].isupper()


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def _text(value: ast.expr | None) -> str | None:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
