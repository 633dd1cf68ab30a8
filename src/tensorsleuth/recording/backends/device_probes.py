"""Computes summaries of tensors inside functions on the tensors' own device.

The summary ops are side branches of the data path. Each ends in a node that records the summary and that the function
keeps alive. The ops exist before TensorFlow optimises the graph, so they can prevent it from fusing the ops that they
read. Dead ops stay dead, but the function computes all its results, even those that its caller does not use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops.functions import STATEFUL_FORMS
from tensorsleuth.recording.backends.device_summary import summary_nodes
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import (
    InPlaceProber,
    ProbeContext,
    keep_alive,
    probe_candidates,
    set_probe_attributes,
)
from tensorsleuth.recording.tensorflow import internals as tf


class DeviceProber(InPlaceProber):
    """Puts summary ops into the copies of functions."""

    def __init__(self, not_covered: Callable[[str, str], None]) -> None:
        self._not_covered = not_covered

    def add_probes(
        self, definition: Definition, copy: Any, probe_context: ProbeContext, arguments: bool, called: set[int]
    ) -> None:
        live = live_tensors(copy)
        _keep_effects(definition, copy, live)
        look_at = probe_context.selection.for_function(definition)
        for tensor, source, op, dtype, device in probe_candidates(definition, arguments, called):
            look = look_at(op, dtype, source)
            if look is None or source not in live:
                continue
            nodes = _summary(source, tensor, dtype, device, look, probe_context)
            copy.node_def.extend(nodes)
            if nodes:
                keep_alive(copy, nodes[-1].name)
            self._say_what_is_missing(dtype, look, bool(nodes))

    def _say_what_is_missing(self, dtype: int, look: Mode, looked: bool) -> None:
        name = dtype_of(dtype).name
        if not looked:
            self._not_covered(f"{name} tensors inside functions", "TensorFlow has no summary for them on the device")
        elif look is Mode.FULL_TENSOR:
            self._not_covered("values of tensors inside functions", "they stay on the device; only summaries leave it")


def live_tensors(function: Any) -> set[str]:
    """Return the tensors that the function must compute. A summary must not add any other."""
    nodes = {node.name: node for node in function.node_def}
    needed = [*function.ret.values(), *function.control_ret.values()]
    needed += [node.name for node in function.node_def if tf.is_stateful(node.op)]
    live: set[str] = set()
    reached: set[str] = set()
    while needed:
        text = needed.pop()
        live.add(text)
        name = _node_of(text)
        if name in nodes and name not in reached:
            reached.add(name)
            needed += nodes[name].input
    return live


def _keep_effects(definition: Definition, copy: Any, live: set[str]) -> None:
    """Mark calls as stateful, else the optimizer drops the summaries inside them. Restore dead calls."""
    names = {_node_of(text) for text in live}
    for node, original in zip(copy.node_def, definition.proto.node_def, strict=True):
        if node.name not in names:
            node.CopyFrom(original)
        elif node.op in STATEFUL_FORMS and node != original:
            node.op = STATEFUL_FORMS[node.op]
            keep_alive(copy, node.name)


def _node_of(text: str) -> str:
    return text.lstrip("^").split(":")[0]


def _summary(source: str, tensor: int, dtype: int, device: str, look: Mode, probe_context: ProbeContext) -> list[Any]:
    name = f"sleuth/{tensor}"
    nodes, inputs = summary_nodes(name, source, dtype, device, look)
    if not nodes:
        return []
    node = tf.NodeDef(name=name, op="SleuthSummary", input=inputs)
    set_probe_attributes(node, tensor, dtype, look, probe_context)
    return [*nodes, node]
