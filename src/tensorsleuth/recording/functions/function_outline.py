"""The outline of a function and its callees before it runs: whether XLA compiles it, its writes, its outside inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_def import Definition, called_functions, is_compiled, read_definition
from tensorsleuth.recording.functions.side_effects import ReplayPolicy, replay_policy
from tensorsleuth.recording.tensorflow import internals as tf

MAX_DEPTH = 64


@dataclass(frozen=True)
class FunctionOutline:
    """The facts about a function and all that it calls."""

    compiled: bool = False  # XLA compiles at least a part of it
    needs_copy: bool = False  # an op reads outside state, or stores its result in an Optional, so a copy is needed
    unkept_ops: tuple[str, ...] = ()  # compiled ops that read outside state, which cannot be kept there
    why_not_replayable: str | None = None  # the reason, if it cannot be replayed
    written_arguments: frozenset[int] = frozenset()  # indices of the variable arguments that it writes


class OutlineReader:
    """Finds the outline of a function by its name."""

    def __init__(self) -> None:
        self._known: dict[str, FunctionOutline] = {}

    def outline_of(self, name: str) -> FunctionOutline:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._read(name, False, 0)
        return known

    def forget(self, name: str) -> None:
        self._known.pop(name, None)

    def _read(self, name: str, compiled: bool, depth: int) -> FunctionOutline:
        proto = tf.get_function(name)
        if proto is None or depth > MAX_DEPTH:
            return FunctionOutline()
        definition = read_definition(proto)
        compiled = compiled or is_compiled(proto.attr)
        parts = [FunctionOutline(compiled, why_not_replayable=_why_not_replayable(definition))]
        for number, node in enumerate(proto.node_def):
            parts.append(_outline_of_node(definition, number, compiled))
            for _, function in called_functions(node):
                inner = self._read(function.name, compiled or is_compiled(node.attr), depth + 1)
                parts.append(_in_caller(definition, node, inner))
        return _merge(parts)


def _merge(parts: list[FunctionOutline]) -> FunctionOutline:
    return FunctionOutline(
        any(part.compiled for part in parts),
        any(part.needs_copy for part in parts),
        tuple(dict.fromkeys(op for part in parts for op in part.unkept_ops)),
        next((part.why_not_replayable for part in parts if part.why_not_replayable), None),
        frozenset().union(*(part.written_arguments for part in parts)),
    )


def _why_not_replayable(definition: Definition) -> str | None:
    for number, node in enumerate(definition.proto.node_def):
        if replay_policy(node, _dtypes(definition, number)) is ReplayPolicy.REFUSE:
            return f"it creates a resource that outlives it ({node.op})"
    return None


def _outline_of_node(definition: Definition, number: int, compiled: bool) -> FunctionOutline:
    node = definition.proto.node_def[number]
    fate = replay_policy(node, _dtypes(definition, number))
    writes = frozenset(_handles(definition, node)) if ops.writes_variables(node.op) else frozenset()
    takes = fate is ReplayPolicy.KEEP
    kept = (takes and not compiled) or node.op in ops.OPAQUE_WRAPPERS
    return FunctionOutline(
        needs_copy=kept, unkept_ops=(node.op,) if takes and compiled else (), written_arguments=writes
    )


def _dtypes(definition: Definition, number: int) -> tuple[int, ...]:
    return tuple(dtype for output in definition.outputs[number] for dtype in output.dtypes)


def _in_caller(definition: Definition, node: Any, inner: FunctionOutline) -> FunctionOutline:
    """Return the outline of a called function in terms of the caller's own arguments."""
    given = _arguments(definition, node)[1 if node.op in ops.BRANCHES else 0 :]
    writes = frozenset(given[at] for at in inner.written_arguments if at < len(given)) - {-1}
    return FunctionOutline(inner.compiled, inner.needs_copy, inner.unkept_ops, inner.why_not_replayable, writes)


def _handles(definition: Definition, node: Any) -> Iterator[int]:
    """Yield the resource arguments among a node's inputs. An optimizer's update op also writes its slot variables."""
    signature = definition.proto.signature
    for argument in _arguments(definition, node):
        if argument >= 0 and signature.input_arg[argument].type == RESOURCE:
            yield argument


def _arguments(definition: Definition, node: Any) -> list[int]:
    """Return, for each input of a node, the function's argument it comes from through identities; -1 for others."""
    return [_argument(definition, text) for text in node.input if not text.startswith("^")]


def _argument(definition: Definition, text: str) -> int:
    return -1 - min(definition.source(definition.resolve(text))[0], 0)
