"""Has tensors inside functions summed up on the device they are on.

The summaries hang beside the data path, each with a node that notes it and that the function keeps alive. They are
there before TensorFlow optimises the graph, and can keep it from fusing ops whose outputs they look at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorsleuth.capture import tf
from tensorsleuth.capture.definition import Definition
from tensorsleuth.capture.device_summary import summary_nodes
from tensorsleuth.capture.instrument import InPlace, Probing, candidates, identify, keep
from tensorsleuth.model.dtypes import dtype_of
from tensorsleuth.model.modes import Mode


class OnDevice(InPlace):
    """Puts summaries into the copies of functions."""

    def __init__(self, not_covered: Callable[[str, str], None]) -> None:
        self._not_covered = not_covered

    def put(self, definition: Definition, copy: Any, probing: Probing, arguments: bool, called: set[int]) -> None:
        live = live_tensors(copy)
        _keep_calls(copy, called, live)
        for tensor, source, op, dtype, device in candidates(definition, arguments, called):
            look = probing.selection.look_in_graph(op, dtype)
            if look is None or source not in live:
                continue
            nodes = _summary(source, tensor, dtype, device, look, probing)
            copy.node_def.extend(nodes)
            if nodes:
                keep(copy, nodes[-1].name)
            self._say_what_is_missing(dtype, look, bool(nodes))

    def _say_what_is_missing(self, dtype: int, look: Mode, looked: bool) -> None:
        name = dtype_of(dtype).name
        if not looked:
            self._not_covered(f"{name} tensors inside functions", "TensorFlow has no summary for them on the device")
        elif look is Mode.FULL_TENSOR:
            self._not_covered("values of tensors inside functions", "they live on the device; they are summed up there")


def live_tensors(function: Any) -> set[str]:
    """The tensors that the function needs to do its work; a summary must not make it compute any other."""
    nodes = {node.name: node for node in function.node_def}
    needed = [*function.ret.values(), *function.control_ret.values()]
    needed += [node.name for node in function.node_def if tf.is_stateful(node.op)]
    live: set[str] = set()
    reached: set[str] = set()
    while needed:
        text = needed.pop()
        live.add(text)
        name = text.lstrip("^").split(":")[0]
        if name in nodes and name not in reached:
            reached.add(name)
            needed += nodes[name].input
    return live


def _keep_calls(copy: Any, called: set[int], live: set[str]) -> None:
    """A call of a function that now has effects, or the optimiser takes the summaries in it for dead."""
    names = {text.lstrip("^").split(":")[0] for text in live}
    for number in called:
        node = copy.node_def[number]
        if node.op == "PartitionedCall" and node.name in names:
            node.op = "StatefulPartitionedCall"
            keep(copy, node.name)


def _summary(source: str, tensor: int, dtype: int, device: str, look: Mode, probing: Probing) -> list[Any]:
    name = f"sleuth/{tensor}"
    nodes, inputs = summary_nodes(name, source, dtype, device, look)
    if not nodes:
        return []
    node = tf.NodeDef(name=name, op="SleuthSummary", input=inputs)
    identify(node, tensor, dtype, look, probing)
    return [*nodes, node]
