"""The expression of the initializer that gave a layer or a variable its first weights."""

from __future__ import annotations

import ast
from dataclasses import replace

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.expressions import Expressions, span_of
from tensorsleuth.diagnose.nan.array_source import AssignedValue, assigned_value
from tensorsleuth.trace.process.process import ProcessTrace

# Arguments of layers and of `add_weight`, and of a layer with several kernels the first.
ARGUMENTS = (
    *("kernel_initializer", "embeddings_initializer", "depthwise_initializer", "recurrent_initializer", "initializer"),
)


def initializer_frame(process: ProcessTrace, frame: Frame) -> Frame | None:
    """Return the initializer's expression in the line that made a layer, or the one that a name there stands for."""
    keyword = process.cached(Expressions).keyword(frame, ARGUMENTS)
    found = _value_of_name(process, frame, keyword.value) if keyword is not None else _of_call(process, frame)
    if found is not None:
        made = Frame(frame.file, found.node.lineno, found.function, span_of(found.node), layer=frame.layer)
        return replace(made, shown_at=replace(frame, shown_at=None)) if made.line != frame.line else made
    if keyword is None:
        return None
    return replace(frame, line=keyword.lineno, span=span_of(keyword))


def _value_of_name(process: ProcessTrace, frame: Frame, value: ast.expr) -> AssignedValue | None:
    """Return the only value that a name was given before a line, if it is one that no other line changes."""
    text = process.catalogue.sources.get(frame.file, "")
    return assigned_value(text, value.id, frame.line) if isinstance(value, ast.Name) else None


def _of_call(process: ProcessTrace, frame: Frame) -> AssignedValue | None:
    """Return the initializer that a line calls by its name: `tf.Variable(init([8, 8]))`."""
    called = {
        node.func.id: node.func for node in process.cached(Expressions).calls(frame) if isinstance(node.func, ast.Name)
    }
    found = [_value_of_name(process, frame, name) for name in called.values()]
    made = [one for one in found if one is not None and _makes_initializer(one.node)]
    return made[0] if len(made) == 1 else None


def _makes_initializer(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and "initializer" in ast.unparse(node.func).lower()
