"""The recorded tensors that an op had to wait for: its inputs, or instead of an unrecorded one, its own inputs."""

from __future__ import annotations

from tensorsleuth.analyze.profile.op_ends import mark_id
from tensorsleuth.core.catalog import Instance, Node
from tensorsleuth.core.ops.kinds import INPUT_OPS
from tensorsleuth.trace.dataflow.value_flow import ValueFlow
from tensorsleuth.trace.query.ops import Op, OpIndex

MAX_SOURCES = 64  # of a sum over thousands, the last few are enough


class OpSources:
    """The sources of ops, among tensors with rows."""

    def __init__(self, index: OpIndex, seen: set[int]) -> None:
        self._index = index
        self._process = index.process
        self._seen = seen
        self._flow = ValueFlow(index.process)
        self.takers: dict[int, set[int]] = {}  # ops that take a batch -> consumers of their outputs without a row

    def sources(self, op: Op) -> list[int]:
        """Return the recorded sources of an op in a function as tensor ids and marks; empty for an eager op."""
        instance = self._process.catalogue.instances.get(op.instance)
        if instance is None or op.node < 0:
            return []
        found: set[int] = set()
        met, wanted = {(instance.id, op.node)}, [(instance, op.node)]
        while wanted and len(found) < MAX_SOURCES:
            wanted += self._behind(*wanted.pop(), found, met)
        for key in met - {(instance.id, op.node)}:
            if (place := self._index.op_number(*key)) >= 0 and self._index.ops[place].type.startswith(INPUT_OPS):
                self.takers.setdefault(place, set()).add(self._index.op_number(op.instance, op.node))
        return sorted(found)

    def _behind(
        self, instance: Instance, node: int, found: set[int], met: set[tuple[int, int]]
    ) -> list[tuple[Instance, int]]:
        """Add a node's recorded inputs to `found`; return the nodes of the others."""
        further: list[tuple[Instance, int]] = []
        for source in (source for slot in self._flow.input_sources(instance, node) for source in slot):
            if source.tensor in self._seen:
                found.add(source.tensor)
                continue
            tensor = self._process.tensor(source.tensor)
            if tensor is None or tensor.instance is None or tensor.function is None or tensor.node is None:
                continue
            key = tensor.instance.id, tensor.function.number(tensor.node)
            told = self._other_evidence(tensor.instance, tensor.node, key[1])
            found.update(told)
            if not told and key not in met and len(met) < MAX_SOURCES:
                further.append((tensor.instance, key[1]))
            met.add(key)
        return further

    def _other_evidence(self, instance: Instance, node: Node, number: int) -> list[int]:
        """Return what else shows the end of a node whose output has no row: its mark, and its other outputs."""
        first = instance.first_tensor + node.first_output
        ids = [mark_id(self._index.op_number(instance.id, number)), *range(first, first + len(node.dtypes))]
        return [id for id in ids if id in self._seen]
