"""Makes copies of functions without our ops, for use in code that XLA compiles.

While tracing, `expect`, `log` and `watch` know whether XLA will compile their graph. They do not know it if a program
keeps the result of get_concrete_function() and later calls it in a compiled function. In that case we strip our ops,
and report that once.
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
    """Return the name of the function to run in place of `name`, which is nearly always `name` itself."""
    if name not in _known:
        _known[name] = _stripped_copy(name, False, set())
        if _known[name] != name:
            complain(
                f"{name} is compiled by XLA, and calls an earlier result of get_concrete_function(): "
                "expect, log and watch do nothing in that. Call the tf.function itself."
            )
    return _known[name]


def _stripped_copy(name: str, compiled: bool, seen: set[str]) -> str:
    """Return the name of a copy without our ops, or of the original if it needs no copy."""
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
    """Make a node call stripped copies, or pass on its input. Return whether it changed."""
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
    """Turn a node of ours into one that only passes on its input, or into a NoOp if it has no output."""
    if node.op in POINT_OPS:
        node.op, waits = "NoOp", [name for name in node.input if name.startswith("^")]
        node.input[:] = waits
        node.attr.clear()
        return
    node.op = "Identity"
    node.attr.pop("expectation", None)
