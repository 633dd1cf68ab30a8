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
from tensorsleuth.capture.instrument import InPlace, Probing, candidates, identify, keep, used_tensors
from tensorsleuth.model.dtypes import dtype_of
from tensorsleuth.model.modes import Mode


class OnDevice(InPlace):
    """Puts summaries into the copies of functions."""

    def __init__(self, not_covered: Callable[[str, str], None]) -> None:
        self._not_covered = not_covered

    def put(self, definition: Definition, copy: Any, probing: Probing, arguments: bool, called: set[int]) -> None:
        used = used_tensors(copy)
        for tensor, source, op, dtype, device in candidates(definition, arguments, called):
            look = probing.selection.look_in_graph(op, dtype)
            if look is None or source not in used:
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


def _summary(source: str, tensor: int, dtype: int, device: str, look: Mode, probing: Probing) -> list[Any]:
    name = f"sleuth/{tensor}"
    nodes, inputs = summary_nodes(name, source, dtype, device, look)
    if not nodes:
        return []
    node = tf.NodeDef(name=name, op="SleuthSummary", input=inputs)
    identify(node, tensor, dtype, look, probing)
    return [*nodes, node]
