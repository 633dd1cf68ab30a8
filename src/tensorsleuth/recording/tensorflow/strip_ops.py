"""Copies of functions without those ops of ours that XLA would have to compile.

What `expect`, `log` and `watch` put into a graph knows while it is traced whether XLA compiles what is around it. Not
so where somebody keeps what get_concrete_function() gave and calls it later in a compiled function: there it is left
out, and that is said.
"""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.ops.functions import POINT_OPS
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.tensorflow import internals as tf

EXPECT_OP = "SleuthExpect"  # the op of native/src/ops/expect.cc
_MUST_COMPILE = "_XlaMustCompile"
_SUFFIX = "__unexpecting"

_known: dict[str, str] = {}


def name_to_run(name: str) -> str:
    """The name of what to run for a function: itself, nearly always."""
    if name not in _known:
        _known[name] = _stripped_copy(name, False, set())
        if _known[name] != name:
            complain(
                f"{name} is compiled by XLA, and calls what get_concrete_function() gave before: "
                "expect, log and watch do nothing in that. Call the tf.function itself."
            )
    return _known[name]


def _stripped_copy(name: str, compiled: bool, seen: set[str]) -> str:
    """The name of a copy, where a function has to have one."""
    definition = tf.get_function(name) if name not in seen else None
    if definition is None:
        return name
    copy = tf.FunctionDef()
    copy.CopyFrom(definition)
    compiled = compiled or copy.attr[_MUST_COMPILE].b
    changed = [_strip(node, compiled, seen | {name}) for node in copy.node_def]
    if not any(changed):
        return name
    copy.signature.name = name + _SUFFIX
    tf.add_function(copy)
    return name + _SUFFIX


def _strip(node: Any, compiled: bool, seen: set[str]) -> bool:
    """Have a node call copies, or only pass on what it gets; was there need for it?"""
    compiled = compiled or (_MUST_COMPILE in node.attr and node.attr[_MUST_COMPILE].b)
    changed = False
    for attribute in node.attr.values():
        for called in (attribute.func, *attribute.list.func):
            new = _stripped_copy(called.name, compiled, seen) if called.name else ""
            if new != called.name:
                called.name, changed = new, True
    if node.op in (EXPECT_OP, *POINT_OPS) and compiled:
        strip_node(node)
        changed = True
    return changed


def strip_node(node: Any) -> None:
    """Let a node of ours pass on what it gets, and no more; one that passes nothing on, do nothing."""
    if node.op in POINT_OPS:
        node.op, waits = "NoOp", [name for name in node.input if name.startswith("^")]
        node.input[:] = waits
        node.attr.clear()
        return
    node.op = "Identity"
    node.attr.pop("expectation", None)
