"""Which tensors that were seen an op had to wait for: its inputs, and through what was not looked at theirs."""

from __future__ import annotations

from tensorsleuth.model.catalog import Instance
from tensorsleuth.trace.flow import Flow
from tensorsleuth.trace.ops import Op
from tensorsleuth.trace.process import ProcessTrace

MOST = 64  # sources of one op: of a sum over thousands the last few tell as much


class Feeding:
    """The sources of ops, among the tensors that have rows."""

    def __init__(self, process: ProcessTrace, seen: set[int]) -> None:
        self._process = process
        self._seen = seen
        self._flow = Flow(process)

    def sources(self, op: Op) -> list[int]:
        """Ids of the tensors with rows that an op in a function was computed from; empty for an eager op."""
        instance = self._process.catalogue.instances.get(op.instance)
        if instance is None or op.node < 0:
            return []
        found: set[int] = set()
        met, wanted = {(instance.id, op.node)}, [(instance, op.node)]
        while wanted and len(found) < MOST:
            wanted += self._behind(*wanted.pop(), found, met)
        return sorted(found)

    def _behind(
        self, instance: Instance, node: int, found: set[int], met: set[tuple[int, int]]
    ) -> list[tuple[Instance, int]]:
        """What a node takes goes to `found` where it was seen; else the node that computes it is returned."""
        further: list[tuple[Instance, int]] = []
        for source in (source for slot in self._flow.slots(instance, node) for source in slot):
            if source.tensor in self._seen:
                found.add(source.tensor)
                continue
            tensor = self._process.tensor(source.tensor)
            if tensor is None or tensor.instance is None or tensor.function is None or tensor.node is None:
                continue
            key = tensor.instance.id, tensor.function.number(tensor.node)
            if key not in met and len(met) < MOST:
                met.add(key)
                further.append((tensor.instance, key[1]))
        return further
