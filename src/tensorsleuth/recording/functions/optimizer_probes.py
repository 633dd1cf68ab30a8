"""Has the native library insert the probes after TensorFlow has optimised the graph.

The optimizer folds constants, fuses ops and reorders arithmetic. Earlier probes would prevent that, and the watched
program would compute other bits than the bare one. So the copy only labels its nodes in their debug info. The library
runs as the optimizer's last pass, and inserts probes behind the labelled nodes that remain.
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

MIN_OPTIMIZED_NODES = 4  # TensorFlow does not optimize smaller graphs


class OptimizerProber:
    """Labels the nodes of a copy, and tells the library which outputs to probe."""

    def __init__(self, native: loader.Native, memory: bool = False) -> None:
        self._native = native
        self._memory = memory  # also record the memory addresses of the other outputs
        self._tiny: set[str] = set()  # copies that are too small for the optimizer

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
        label_node(copy.node_def[-1], copy.signature.name)  # no pass removes this node: its label shows that ours ran
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
    """Return a line for each node: its name, first tensor id, the dtype, mode and slot of each output, and inputs.

    `memory`: for an output without a mode that may own memory, record the memory address.
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
    """Yield a line for each node of which only the end time is recorded: a slow op without a recorded output.

    Functions of datasets have no such lines, because no Python call waits for their ops.
    """
    if not probe_context.selection.notes_op_ends or probe_context.root is None:
        return
    for number, node in enumerate(definition.proto.node_def):
        if node.name not in looked_at and ops.needs_end_mark(node.op):
            yield f"{node.name}\t{probe_context.first}\t@{number}\t"


def _has_memory(op: str, dtype: int) -> bool:
    """Return whether an op may produce a large tensor that shares no memory with its inputs."""
    known = DTYPES.get(dtype)
    nothing = ops.STATIC_VALUES | ops.CONTROL_FLOW | ops.TENSOR_ARRAYS | ops.VIEWS
    return op not in nothing and known is not None and known.kind is not DTypeKind.OTHER


def _input_nodes(node: Any) -> str:
    """Return the input nodes of a node, by which the library finds it if the optimizer has moved it."""
    return ",".join(text.split(":")[0] for text in node.input if ":" in text)


def label_node(node: Any, function: str) -> None:
    node.experimental_debug_info.original_node_names[:] = [node.name]
    node.experimental_debug_info.original_func_names[:] = [function]
