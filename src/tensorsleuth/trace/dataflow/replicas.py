"""The replicas of a strategy that trains on several devices of one process."""

from __future__ import annotations

import re
from functools import cached_property

from tensorsleuth.core.catalog import Node
from tensorsleuth.core.ops.kinds import COLLECTIVES
from tensorsleuth.core.ops.layer_names import REPLICA
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import ProcessTrace

_SCOPE = re.compile(rf"(?:^|/){REPLICA.pattern}(?=/)")


class Replicas:
    """Finds the replica of a tensor by the scopes that TensorFlow opens for all replicas but the first."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process

    def replica_of(self, one: ObservedTensor) -> int | None:
        """Return the replica that computed a tensor, or None for a tensor of all replicas, such as summed gradients."""
        node = one.tensor.node
        if node is None or self.count < 2:
            return None
        if node.type in COLLECTIVES:
            return self._replica_on(node.device)
        return self._replica_in_scope(node.name) or (0 if (node.site, node.type) in self._replicated_ops else None)

    @property
    def count(self) -> int:
        return max(len(self.devices), self._numbered)

    def name(self, number: int) -> str:
        """Return a replica's name, e.g. `replica 1 of 2 (CPU:1)`."""
        device = f" ({_short(self.devices[number])})" if number < len(self.devices) else ""
        return f"replica {number} of {self.count}{device}"

    @cached_property
    def devices(self) -> list[str]:
        """Return the device of each replica."""
        found = self._process.catalogue.meta.get("replicas")
        return [str(device) for device in found] if isinstance(found, list) else []

    @cached_property
    def _nodes(self) -> list[Node]:
        nodes = (node for function in self._process.catalogue.functions.values() for node in function.nodes)
        return [node for node in nodes if _SCOPE.search(node.name)]

    @cached_property
    def _numbered(self) -> int:
        return max((self._replica_in_scope(node.name) or 0 for node in self._nodes), default=-1) + 1

    @cached_property
    def _replicated_ops(self) -> set[tuple[int, str]]:
        """Return the ops that replicas run on each line. The first replica has no scope, but runs the same ops."""
        return {(node.site, node.type) for node in self._nodes}

    def _replica_in_scope(self, name: str) -> int | None:
        found = _SCOPE.search(name)
        return int(found.group(1)) if found is not None else None

    def _replica_on(self, device: str) -> int | None:
        names = [_short(one) for one in self.devices]
        return names.index(_short(device)) if _short(device) in names else None


def _short(device: str) -> str:
    return device.rpartition("device:")[2]
