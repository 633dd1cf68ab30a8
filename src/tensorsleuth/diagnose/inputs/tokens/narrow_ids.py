"""Ids that pass through a type that cannot name every row of the table that they are looked up in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.core.dtypes import DType, Kind, dtype_of
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.kinds import ARRIVALS
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.inputs.input_parts import SLICE, Part
from tensorsleuth.diagnose.inputs.model_inputs import FAR, GATHERS, Given
from tensorsleuth.diagnose.inputs.tokens.integer_range import last_held
from tensorsleuth.trace.process.process import ProcessTrace

WHOLE = (Kind.INT, Kind.UINT)
# Ids stay ids: what they are cast to, cut, clipped, rounded. What is computed of floats to be an index is none.
KEEPS = frozenset(["Cast", "Relu", SLICE, "Minimum", "Maximum", "ClipByValue", "Round", "Rint", "Floor"])
PICKS = frozenset(["SelectV2", "Select"])


@dataclass(frozen=True)
class Narrow:
    """Ids, the table, and the first type on the way there that is too small for it."""

    lookup: Spot
    table: str
    rows: int
    dtype: int
    last: int  # up to this all ids are what they were
    cast: Spot | None  # what makes them of that type; None where they come in so
    tensors: tuple[int, ...]  # the ids since then, on their way to the table
    given: Part | None  # what they were, where that was kept

    @property
    def type(self) -> DType:
        return dtype_of(self.dtype)


class NarrowIds:
    """The narrow ids of all functions of a process that train."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process, self._given = process, process.once(Given)

    @cached_property
    def all(self) -> list[Narrow]:
        found = (self._narrow(spot) for spot in self._given.training.forward(GATHERS))
        return list({(one.table, one.tensors[0]): one for one in found if one is not None}.values())

    def wraps(self, lookup: Spot) -> bool:
        """Do the ids of a lookup start over below 0: then they are in no row for that reason."""
        return any(one.lookup == lookup and one.type.kind in WHOLE for one in self.all)

    def largest(self, one: Narrow) -> float | None:
        """That was seen of the ids, where they are floats: nearest to the table, where other columns are cut off."""
        events = self._process.events
        rows = events[np.isin(events["tensor"], np.array(one.tensors, np.uint32))]
        rows = rows[rows["flags"] & EventFlag.RANGED != 0]
        seen = {int(tensor) for tensor in np.unique(rows["tensor"])}
        nearest = next((tensor for tensor in reversed(one.tensors) if tensor in seen), None)
        return float(rows["max"][rows["tensor"] == nearest].max()) if nearest is not None else None

    def _narrow(self, spot: Spot) -> Narrow | None:
        table = self._given.table(spot)
        way = list(self._way(spot))[::-1] if table is not None else []
        types = [self._type(tensor) for tensor in way]
        for at, dtype in enumerate(types):
            last = last_held(dtype)
            if table is None or last is None:
                return None
            if last < table[1] - 1:
                are_ids = self._arrives(way[0]) or any(dtype_of(one).kind in WHOLE for one in types[:at])
                cast = self._given.made_by(way[at]) if at else None
                given = self._kept(spot, way)
                return Narrow(spot, *table, dtype, last, cast, tuple(way[at:]), given) if are_ids else None
        return None

    def _kept(self, spot: Spot, way: list[int]) -> Part | None:
        """Return the kept ids, unless they are sliced and clipped on the way: then they are not known."""
        made = (self._given.made_by(tensor) for tensor in way)
        whole = self._given.known.get(way[0]) if all(one is None or one.type != SLICE for one in made) else None
        return Part(whole) if whole is not None else self._given.origin(spot, 1)

    def _way(self, spot: Spot) -> Iterator[int]:
        """The tensors that ids are in on their way to a table, the last one first."""
        slot = 1
        for _ in range(FAR):
            sources = self._sources(spot, slot)
            if len(sources) != 1:
                return
            yield sources[0]
            before = self._given.made_by(sources[0])
            if before is None or before.type not in KEEPS | PICKS:
                return
            spot, slot = before, self._picked(before) if before.type in PICKS else 0

    def _picked(self, spot: Spot) -> int:
        """Return the slot of a `where` with the ids: a constant replaces others."""
        made = [self._given.made_by(source) for source in self._sources(spot, 2)]
        return 1 if any(one is not None and one.type == "Const" for one in made) else 2

    def _sources(self, spot: Spot, slot: int) -> list[int]:
        slots = self._given.training.moments.flow.slots(spot.instance, spot.node) if spot.instance is not None else []
        return [one.tensor for one in slots[slot]] if slot < len(slots) else []

    def _arrives(self, number: int) -> bool:
        tensor = self._process.tensor(number)
        return tensor is not None and tensor.type in ARRIVALS

    def _type(self, number: int) -> int:
        tensor = self._process.tensor(number)
        if tensor is None or tensor.function is None or tensor.instance is None:
            return -1
        if tensor.node is not None:
            return tensor.node.dtypes[tensor.output]
        return tensor.function.argument_dtypes[number - tensor.instance.first]
