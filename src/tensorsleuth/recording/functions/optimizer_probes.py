"""Has the native library put the probes in when TensorFlow has optimised the graph.

The optimizer folds constants, fuses ops and reorders arithmetic, and a probe in the middle would stop it: the watched
program would compute other bits than the bare one. So the copy only names its nodes, in their debug info, and the
library, which takes part in the optimizer as its last pass, puts probes behind those that are left.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from tensorsleuth.core.dtypes import DTYPES, DTypeKind
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.native import loader
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import (
    InPlaceProber,
    ProbeContext,
    Prober,
    add_join,
    mode_number,
    probe_candidates,
)

MIN_OPTIMIZED_NODES = 4  # nodes: TensorFlow does not look at smaller graphs


class OptimizerProber:
    """Names the nodes of a copy, and tells the library which of their outputs to look at."""

    def __init__(self, native: loader.Native, memory: bool = False) -> None:
        self._native = native
        self._memory = memory  # have it said of all others where they lie
        self._tiny: set[str] = set()  # copies that the optimizer passes over

    def add_probes(
        self, definition: Definition, copy: Any, probe_context: ProbeContext, arguments: bool, called: set[int]
    ) -> None:
        name = copy.signature.name
        for node in copy.node_def:
            label_node(node, name)
        looks = describe_probes(definition, probe_context, arguments, called, self._memory)
        self._native.watch_function(name.encode(), probe_context.session, looks.encode())

    def join(self, copy: Any, session: int) -> None:
        add_join(copy, session)
        label_node(copy.node_def[-1], copy.signature.name)  # no pass takes this one away: it shows that ours ran
        nodes = sum(node.op not in ops.PRUNED_OPS for node in copy.node_def)
        size = len(copy.signature.input_arg) + nodes + len(copy.signature.output_arg)
        if size < MIN_OPTIMIZED_NODES:
            self._tiny.add(copy.signature.name)

    def took_effect(self, copy: str) -> bool:
        return copy in self._tiny or bool(self._native.was_probed(copy.encode()))

    def fallback(self) -> Prober:
        return InPlaceProber()

    def forget(self, copy: str) -> None:
        self._tiny.discard(copy)
        self._native.forget_function(copy.encode())


def describe_probes(
    definition: Definition, probe_context: ProbeContext, arguments: bool, called: set[int], memory: bool = False
) -> str:
    """A line a node: its name, its first tensor's id, dtype, look and slot of each output, and what feeds it.

    `memory`: a tensor that is not looked at is still asked where it lies, where it may have memory of its own.
    """
    firsts: dict[str, int] = {}
    looks: dict[str, list[str]] = {}
    look_at = probe_context.selection.for_function(definition)
    for tensor, source, op, dtype, _ in probe_candidates(definition, arguments, called):
        node = source.split(":")[0]
        look = look_at(op, dtype, source)
        hold = probe_context.kept_slots.get(source, 0)
        firsts.setdefault(node, probe_context.first + tensor)
        asked = bool(hold) or look is not None or probe_context.selection.has_probe(source)
        passed_over = not asked and not (memory and _has_memory(op, dtype))
        looks.setdefault(node, []).append("-" if passed_over else f"{dtype}:{mode_number(look)}:{hold}")
    feeds = {node.name: _input_nodes(node) for node in definition.proto.node_def}
    looked_at = {node: kinds for node, kinds in looks.items() if set(kinds) != {"-"}}
    lines = [f"{node}\t{firsts[node]}\t{','.join(kinds)}\t{feeds.get(node, '')}" for node, kinds in looked_at.items()]
    return "\n".join([*lines, *_end_marks(definition, probe_context, looked_at)])


def _end_marks(definition: Definition, probe_context: ProbeContext, looked_at: Container[str]) -> Iterator[str]:
    """A line for each node of which only the end is noted: it takes time, and has no tensor whose row would tell.

    Not in what a dataset calls: no call of Python's waits for that op.
    """
    if not probe_context.selection.notes_op_ends or probe_context.root is None:
        return
    for number, node in enumerate(definition.proto.node_def):
        if node.name not in looked_at and ops.needs_end_mark(node.op):
            yield f"{node.name}\t{probe_context.first}\t@{number}\t"


def _has_memory(op: str, dtype: int) -> bool:
    """May an op put out a large tensor that shares its memory with none of its inputs."""
    known = DTYPES.get(dtype)
    nothing = ops.STATIC_VALUES | ops.CONTROL_FLOW | ops.TENSOR_ARRAYS | ops.VIEWS
    return op not in nothing and known is not None and known.kind is not DTypeKind.OTHER


def _input_nodes(node: Any) -> str:
    """The nodes that feed one, for the optimizer may move them elsewhere."""
    return ",".join(text.split(":")[0] for text in node.input if ":" in text)


def label_node(node: Any, function: str) -> None:
    node.experimental_debug_info.original_node_names[:] = [node.name]
    node.experimental_debug_info.original_func_names[:] = [function]
