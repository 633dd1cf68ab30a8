"""One call of the program: every tensor that was computed in it, and what each was computed from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.model.rows import CallKind, EventFlag, EventKind
from tensorsleuth.trace.flow import Flow, Source
from tensorsleuth.trace.observed import Observed, Row
from tensorsleuth.trace.process import ProcessTrace, Tensor

MAX_DEPTH = 200  # ops without rows that are looked through
MAX_MOMENTS = 64  # that are kept in memory


class Calls:
    """The calls of a process, and the eager tensors that went between them."""

    def __init__(self, process: ProcessTrace) -> None:
        self.process = process
        self.flow = Flow(process)

    @cached_property
    def _eager(self) -> tuple[Any, Any]:
        """The uids of eager tensors, sorted, and the number of the event of each."""
        events = self.process.events
        places = np.flatnonzero(events["kind"] == EventKind.EAGER)
        rows = events[places]
        uids = rows["iteration"].astype(np.uint64) | (rows["frame"].astype(np.uint64) << np.uint64(32))
        order = np.argsort(uids, kind="stable")
        return uids[order], places[order]

    @cached_property
    def rows(self) -> dict[int, Row]:
        """The row of each call."""
        calls = self.process.calls
        real = calls[np.isin(calls["kind"], (CallKind.OP, CallKind.FUNCTION))]
        return dict(zip(real["call"].tolist(), real, strict=True))

    @cached_property
    def _inputs(self) -> dict[int, list[int]]:
        """The uids that went into each call."""
        inputs: dict[int, list[int]] = defaultdict(list)
        calls = self.process.calls
        for row in calls[np.isin(calls["kind"], (CallKind.OP, CallKind.FUNCTION, CallKind.MORE_INPUTS))]:
            inputs[int(row["call"])] += row["inputs"][: int(row["inputs_count"])].tolist()
        return inputs

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        """The calls that took each uid."""
        consumers: dict[int, list[int]] = defaultdict(list)
        for call, uids in self._inputs.items():
            for uid in uids:
                consumers[uid].append(call)
        return consumers

    def inputs(self, call: int) -> list[int]:
        return self._inputs.get(call, [])

    def by_uid(self, uid: int) -> Observed | None:
        """The eager tensor of that uid; what a function returned was seen inside the function."""
        uids, places = self._eager
        at = int(np.searchsorted(uids, np.uint64(uid)))
        if at >= len(uids) or uids[at] != uid:
            return None
        row = self.process.events[places[at]]
        tensor = self.process.tensor(row["tensor"])
        if tensor is None:
            return None
        return self._inside(row, tensor) or Observed(self.process, tensor, row)

    def _inside(self, row: Row, tensor: Tensor) -> Observed | None:
        instance = self.process.catalogue.instances.get(tensor.eager.instance) if tensor.eager else None
        if row["flags"] & EventFlag.LOOKED or instance is None:
            return None
        moment = self.moment(int(row["step"]))
        return next(moment.look_through(None, self.flow.returned(instance, tensor.output)), None)

    def moment(self, call: int) -> Moment:
        """The call of that number."""
        return self._moment((call, -1))

    def dataset_moment(self, tf_step: int) -> Moment:
        """What a dataset ran by itself under one of TensorFlow's step ids."""
        return self._moment((-1, tf_step))

    def _moment(self, key: tuple[int, int]) -> Moment:
        if key not in self._moments:
            if len(self._moments) > MAX_MOMENTS:
                self._moments.clear()
            self._moments[key] = Moment(self, *key)
        return self._moments[key]

    @cached_property
    def _moments(self) -> dict[tuple[int, int], Moment]:
        return {}

    @cached_property
    def _steps(self) -> dict[int, list[int]]:
        """TensorFlow's step ids of each call."""
        steps: dict[int, list[int]] = defaultdict(list)
        for step, call in self.process.call_of_step.items():
            steps[call].append(step)
        return steps

    def steps(self, call: int) -> list[int]:
        return self._steps.get(call, [])


class Moment:
    """One call: the rows of its graph, or of its eager op; or one run of a dataset's function."""

    def __init__(self, calls: Calls, call: int, tf_step: int) -> None:
        self.calls = calls
        self.call = call
        self.process = calls.process
        events = self.process.events
        steps = np.array([tf_step] if call < 0 else calls.steps(call), np.uint64)
        inside = np.isin(events["step"], steps) & (events["kind"] == EventKind.GRAPH)
        outside = (events["step"] == call) & (events["kind"] == EventKind.EAGER) if call >= 0 else False
        self.rows = events[inside | outside]

    @cached_property
    def _by_tensor(self) -> dict[int, list[Row]]:
        rows: dict[int, list[Row]] = defaultdict(list)
        for row in self.rows:
            rows[int(row["tensor"])].append(row)
        return rows

    def bad(self) -> Iterator[Observed]:
        for row in self.rows[self.rows["flags"] & EventFlag.BAD != 0]:
            tensor = self.process.tensor(row["tensor"])
            if tensor is not None:
                yield Observed(self.process, tensor, row)

    def returned(self) -> Iterator[tuple[int, Observed]]:
        """What the call gave back to Python: uids, and what was seen of each."""
        for row in self.rows[self.rows["kind"] == EventKind.EAGER]:
            uid = int(row["iteration"]) | int(row["frame"]) << 32
            found = self.calls.by_uid(uid)
            if found is not None and found.tensor.type != "Argument":
                yield uid, found

    def slots(self, observed: Observed) -> list[list[Observed]]:
        """What went into the op that computed a tensor, an entry for each of its inputs."""
        tensor = observed.tensor
        if tensor.eager is not None:
            found = (self.calls.by_uid(uid) for uid in self.calls.inputs(self.call))
            return [[one] for one in found if one is not None]
        if tensor.node is None or tensor.instance is None or tensor.function is None:
            return []
        slots = self.calls.flow.slots(tensor.instance, tensor.function.number(tensor.node))
        return [list(self.look_through(observed.row, sources)) for sources in slots]

    def look_through(
        self, row: Row | None, sources: list[Source], seen: set[Source] | None = None, depth: int = 0
    ) -> Iterator[Observed]:
        """The sources as they were seen; where one was not (it was fused away), what it was computed from."""
        seen = set() if seen is None else seen
        for source in sources:
            if source in seen or depth > MAX_DEPTH:
                continue
            seen.add(source)
            tensor = self.process.tensor(source.tensor)
            if tensor is None:
                continue
            found = self._row_of(row, source)
            if found is not None:
                yield Observed(self.process, tensor, found)
            elif source.argument >= 0:
                yield from self._passed(source.argument)
            elif tensor.node is not None and tensor.node.type == "Const":
                yield Observed(self.process, tensor, None, _constant(tensor.node.attrs))
            elif tensor.node is not None and tensor.instance is not None and tensor.function is not None:
                inner = self.calls.flow.slots(tensor.instance, tensor.function.number(tensor.node))
                flat = [source for slot in inner for source in slot]
                yield from self.look_through(row, flat, seen, depth + 1)

    def _row_of(self, row: Row | None, source: Source) -> Row | None:
        """The row of a source in this call, in the right iteration of its loop."""
        rows = self._by_tensor.get(source.tensor, [])
        if not rows or row is None:
            return rows[-1] if rows else None
        inside = [other for other in rows if other["frame"] == row["frame"]]
        if not inside:
            return rows[-1]
        wanted = int(row["iteration"]) - int(source.earlier)
        return next((other for other in reversed(inside) if other["iteration"] == wanted), None)

    def _passed(self, argument: int) -> Iterator[Observed]:
        uids = self.calls.inputs(self.call)
        found = self.calls.by_uid(uids[argument]) if argument < len(uids) else None
        if found is not None:
            yield found


def _constant(attrs: dict[str, Any]) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in attrs.get("value", ()))
    except ValueError:  # complex, or text
        return ()
