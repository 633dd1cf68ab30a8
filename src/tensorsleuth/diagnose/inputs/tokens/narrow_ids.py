"""Ids in a dtype that cannot hold every row number of their table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.core.dtypes import DType, DTypeKind, dtype_of
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.data_ops import EMBEDDING_LOOKUPS
from tensorsleuth.core.ops.elementwise import ID_PRESERVING
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES, SELECTS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.inputs.input_parts import SLICE_OP, InputPart
from tensorsleuth.diagnose.inputs.model_inputs import MAX_HOPS_TO_INPUT, ModelInputs
from tensorsleuth.diagnose.inputs.tokens.integer_range import last_exact_integer
from tensorsleuth.trace.process.process import ProcessTrace

INTEGER_KINDS = (DTypeKind.INT, DTypeKind.UINT)


@dataclass(frozen=True)
class NarrowLookup:
    """Ids, the table, and the first dtype on the path that is too small for it."""

    gather: OpNode
    table: str
    rows: int
    dtype: int
    last_exact: int  # up to this all ids are what they were
    cast_op: OpNode | None  # what makes them of that type; None where they come in so
    tensors: tuple[int, ...]  # the ids since then, on their way to the table
    kept_ids: InputPart | None  # what they were, where that was kept

    @property
    def type(self) -> DType:
        return dtype_of(self.dtype)


class NarrowIds:
    """The narrow ids of all functions of a process that train."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process, self._inputs = process, process.cached(ModelInputs)

    @cached_property
    def all(self) -> list[NarrowLookup]:
        found = (self._narrow(spot) for spot in self._inputs.training.forward_ops(EMBEDDING_LOOKUPS))
        return list({(one.table, one.tensors[0]): one for one in found if one is not None}.values())

    def wraps_around(self, lookup: OpNode) -> bool:
        """Return whether the ids of a lookup wrap around below 0, which is why they have no row."""
        return any(one.gather == lookup and one.type.kind in INTEGER_KINDS for one in self.all)

    def largest_id(self, one: NarrowLookup) -> float | None:
        """Return the largest recorded id, from the tensor nearest to the lookup; None without a range."""
        events = self._process.events
        rows = events[np.isin(events["tensor"], np.array(one.tensors, np.uint32))]
        rows = rows[rows["flags"] & EventFlag.RANGED != 0]
        seen = {int(tensor) for tensor in np.unique(rows["tensor"])}
        nearest = next((tensor for tensor in reversed(one.tensors) if tensor in seen), None)
        return float(rows["max"][rows["tensor"] == nearest].max()) if nearest is not None else None

    def _narrow(self, op_node: OpNode) -> NarrowLookup | None:
        table = self._inputs.table_of(op_node)
        way = list(self._tensors_back(op_node))[::-1] if table is not None else []
        types = [self._type(tensor) for tensor in way]
        for at, dtype in enumerate(types):
            last = last_exact_integer(dtype)
            if table is None or last is None:
                return None
            if last < table[1] - 1:
                are_ids = self._arrives(way[0]) or any(dtype_of(one).kind in INTEGER_KINDS for one in types[:at])
                cast = self._inputs.producer(way[at]) if at else None
                given = self._kept(op_node, way)
                return NarrowLookup(op_node, *table, dtype, last, cast, tuple(way[at:]), given) if are_ids else None
        return None

    def _kept(self, op_node: OpNode, way: list[int]) -> InputPart | None:
        """Return the kept ids, unless they are sliced and clipped on the way: then they are not known."""
        made = (self._inputs.producer(tensor) for tensor in way)
        whole = (
            self._inputs.series_by_tensor.get(way[0])
            if all(one is None or one.type != SLICE_OP for one in made)
            else None
        )
        return InputPart(whole) if whole is not None else self._inputs.input_behind(op_node, 1)

    def _tensors_back(self, op_node: OpNode) -> Iterator[int]:
        """Yield the tensors that hold the ids on the path to a table, the last one first."""
        slot = 1
        for _ in range(MAX_HOPS_TO_INPUT):
            sources = self._sources(op_node, slot)
            if len(sources) != 1:
                return
            yield sources[0]
            before = self._inputs.producer(sources[0])
            if before is None or before.type not in ID_PRESERVING | SELECTS:
                return
            op_node, slot = before, self._picked(before) if before.type in SELECTS else 0

    def _picked(self, op_node: OpNode) -> int:
        """Return the slot of a `where` with the ids: a constant replaces others."""
        made = [self._inputs.producer(source) for source in self._sources(op_node, 2)]
        return 1 if any(one is not None and one.type == "Const" for one in made) else 2

    def _sources(self, op_node: OpNode, slot: int) -> list[int]:
        slots = (
            self._inputs.training.call_graphs.flow.input_sources(op_node.instance, op_node.node_index)
            if op_node.instance is not None
            else []
        )
        return [one.tensor for one in slots[slot]] if slot < len(slots) else []

    def _arrives(self, number: int) -> bool:
        tensor = self._process.tensor(number)
        return tensor is not None and tensor.type in EXTERNAL_SOURCES

    def _type(self, number: int) -> int:
        tensor = self._process.tensor(number)
        if tensor is None or tensor.function is None or tensor.instance is None:
            return -1
        if tensor.node is not None:
            return tensor.node.dtypes[tensor.output]
        return tensor.function.argument_dtypes[number - tensor.instance.first_tensor]
