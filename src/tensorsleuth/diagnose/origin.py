"""Finds the tensors that are bad though everything that went into them was healthy: where bad values are born."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.diagnose.flow import Flow, Source
from tensorsleuth.model.rows import CallKind, EventFlag, EventKind
from tensorsleuth.trace.process import ProcessTrace, Tensor

MAX_DEPTH = 200  # ops without rows that are looked through
Row = Any


@dataclass(frozen=True)
class Origin:
    """A bad tensor with healthy inputs, and those inputs."""

    process: ProcessTrace
    row: Row
    tensor: Tensor
    inputs: tuple[tuple[Row, Tensor], ...]
    step: int | None


class OriginFinder:
    """Looks for origins in the first call of a process in which anything was bad."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process
        self._flow = Flow(process)

    @cached_property
    def _rows(self) -> dict[int, list[Row]]:
        """All rows of the call that is looked at, by tensor."""
        return defaultdict(list)

    @cached_property
    def _by_uid(self) -> dict[int, Row]:
        events = self._process.events
        eager = events[events["kind"] == EventKind.EAGER]
        uids = eager["iteration"].astype(np.uint64) | (eager["frame"].astype(np.uint64) << np.uint64(32))
        return dict(zip(uids.tolist(), eager, strict=True))

    @cached_property
    def _calls(self) -> dict[int, Row]:
        calls = self._process.calls
        real = calls[np.isin(calls["kind"], (CallKind.OP, CallKind.FUNCTION))]
        return dict(zip(real["call"].tolist(), real, strict=True))

    def find(self) -> Iterator[Origin]:
        """Origins of the first call with bad values, in the order in which they were recorded."""
        first = next(self._process.bad_rows(), None)
        if first is None:
            return
        block = self._block(first)
        self._rows.clear()
        for row in block:
            self._rows[int(row["tensor"])].append(row)
        for row in block[block["flags"] & EventFlag.BAD != 0]:
            origin = self._origin(row)
            if origin is not None:
                yield origin

    def _block(self, first: Row) -> Any:
        """The rows that ran for the same call as `first`."""
        events = self._process.events
        call = self._process.call_of(first)
        same = events["step"] == first["step"]
        if call is not None:
            steps = [step for step, number in self._process.call_of_step.items() if number == call]
            same = np.isin(events["step"], np.array(steps, np.uint64)) & (events["kind"] == EventKind.GRAPH)
            same |= (events["step"] == call) & (events["kind"] == EventKind.EAGER)
        return events[same]

    def _origin(self, row: Row) -> Origin | None:
        tensor = self._process.tensor(row["tensor"])
        if tensor is None:
            return None
        inputs = list(self._inputs(row, tensor))
        if any(other["flags"] & EventFlag.BAD for other, _ in inputs):
            return None
        return Origin(self._process, row, tensor, tuple(inputs), self._process.step_of(row))

    def _inputs(self, row: Row, tensor: Tensor) -> Iterator[tuple[Row, Tensor]]:
        if tensor.eager is not None:
            yield from self._eager_inputs(int(row["step"]))
        elif tensor.node is not None and tensor.instance is not None and tensor.function is not None:
            number = tensor.function.nodes.index(tensor.node)
            yield from self._look_through(row, self._flow.inputs(tensor.instance, number), set(), 0)

    def _look_through(
        self, row: Row, sources: list[Source], seen: set[Source], depth: int
    ) -> Iterator[tuple[Row, Tensor]]:
        """Rows of the sources; where one has none (it was fused away), rows of what it was computed from."""
        for source in sources:
            if source in seen or depth > MAX_DEPTH:
                continue
            seen.add(source)
            tensor = self._process.tensor(source.tensor)
            found = self._row_of(row, source)
            if tensor is None:
                continue
            if found is not None:
                yield found, tensor
            elif source.argument >= 0:
                yield from self._passed(row, source.argument)
            elif tensor.node is not None and tensor.instance is not None and tensor.function is not None:
                number = tensor.function.nodes.index(tensor.node)
                yield from self._look_through(row, self._flow.inputs(tensor.instance, number), seen, depth + 1)

    def _row_of(self, row: Row, source: Source) -> Row | None:
        """The row of a source that belongs to the same call, and to the right iteration of its loop."""
        rows = self._rows.get(source.tensor, [])
        wanted = int(row["iteration"]) - int(source.earlier)
        inside = [other for other in rows if other["frame"] == row["frame"]]
        if inside:
            exact = [other for other in inside if other["iteration"] == wanted]
            return exact[-1] if exact else None
        return rows[-1] if rows else None

    def _passed(self, row: Row, argument: int) -> Iterator[tuple[Row, Tensor]]:
        call = self._process.call_of(row)
        called = self._calls.get(call) if call is not None else None
        if called is not None and argument < called["inputs_count"]:
            yield from self._by_uid_resolved(int(called["inputs"][argument]))

    def _eager_inputs(self, call: int) -> Iterator[tuple[Row, Tensor]]:
        called = self._calls.get(call)
        if called is None:
            return
        for uid in called["inputs"][: called["inputs_count"]]:
            yield from self._by_uid_resolved(int(uid))

    def _by_uid_resolved(self, uid: int) -> Iterator[tuple[Row, Tensor]]:
        row = self._by_uid.get(uid)
        tensor = self._process.tensor(row["tensor"]) if row is not None else None
        if row is None or tensor is None:
            return
        inside = self._inside(row, tensor)
        yield inside if inside is not None else (row, tensor)

    def _inside(self, row: Row, tensor: Tensor) -> tuple[Row, Tensor] | None:
        """A function's output was looked at where it was computed, inside the function."""
        instance = self._process.catalogue.instances.get(tensor.eager.instance) if tensor.eager else None
        if row["flags"] & EventFlag.LOOKED or instance is None:
            return None
        rows = self._rows_of_call(int(row["step"]))
        for source in self._flow.returned(instance, tensor.output):
            found = rows[rows["tensor"] == source.tensor]
            computed = self._process.tensor(source.tensor)
            if len(found) and computed is not None:
                return found[-1], computed
        return None

    def _rows_of_call(self, call: int) -> Any:
        events = self._process.events
        steps = [step for step, number in self._process.call_of_step.items() if number == call]
        return events[np.isin(events["step"], np.array(steps, np.uint64)) & (events["kind"] == EventKind.GRAPH)]
