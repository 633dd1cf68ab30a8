"""Finds where bad values are born: a bad tensor all of whose inputs were healthy, and which did harm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.trace.moment import Calls, Moment
from tensorsleuth.trace.observed import Observed
from tensorsleuth.model.catalog import Function, Instance
from tensorsleuth.model.ops import writes_variables
from tensorsleuth.model.rows import EventFlag, EventKind
from tensorsleuth.trace.process import ProcessTrace

MAX_TAKERS = 20
MAX_CALLS = 200  # with bad values, that are looked at until one has an origin that matters


@dataclass(frozen=True)
class Origin:
    """A bad tensor that was born here."""

    moment: Moment
    born: Observed
    slots: tuple[tuple[Observed, ...], ...]
    masked: bool  # nothing bad came of it

    @property
    def process(self) -> ProcessTrace:
        return self.moment.process

    @property
    def step(self) -> int | None:
        return self.process.step_of_call.get(self.moment.call)


class OriginFinder:
    """Looks through the calls of a process, oldest first."""

    def __init__(self, process: ProcessTrace) -> None:
        self.process = process
        self.calls = Calls(process)

    def find(self) -> Iterator[Origin]:
        """Origins of the first call in which one matters, and before it those that were masked."""
        for number, moment in enumerate(self._bad_moments()):
            origins = list(self._origins(moment))
            yield from origins
            if any(not origin.masked for origin in origins) or number >= MAX_CALLS:
                return

    def _bad_moments(self) -> Iterator[Moment]:
        """The calls in which anything was bad, in the order in which that was recorded."""
        events = self.process.events
        bad = events[events["flags"] & EventFlag.BAD != 0]
        joined = self.process.call_of_step
        seen: set[int] = set()
        for row in bad[np.sort(np.unique(bad["step"], return_index=True)[1])]:
            step = int(row["step"])
            call = step if row["kind"] == EventKind.EAGER else joined.get(step)
            if call is None:
                yield self.calls.dataset_moment(step)
            elif call not in seen:
                seen.add(call)
                yield self.calls.moment(call)

    def _origins(self, moment: Moment) -> Iterator[Origin]:
        bad = list(moment.bad())
        slots = {id(one): moment.slots(one) for one in bad}
        harmful = self._harmful(moment, bad, slots)
        for one in bad:
            if not any(other.bad for slot in slots[id(one)] for other in slot):
                masked = _key(one) not in harmful
                yield Origin(moment, one, tuple(tuple(slot) for slot in slots[id(one)]), masked)

    def _harmful(
        self, moment: Moment, bad: list[Observed], slots: dict[int, list[list[Observed]]]
    ) -> set[tuple[int, int, int]]:
        """The bad tensors from which badness got out of the call: returned, written to a variable, or left over."""
        feeds = {_key(one): [_key(other) for slot in slots[id(one)] for other in slot if other.bad] for one in bad}
        reached = set(self._sinks(moment, bad))
        todo = list(reached)
        while todo:
            for source in feeds.get(todo.pop(), ()):
                if source not in reached:
                    reached.add(source)
                    todo.append(source)
        return reached

    def _sinks(self, moment: Moment, bad: list[Observed]) -> Iterator[tuple[int, int, int]]:
        """Where badness leaves the call: into a variable, or by a tensor that Python got and that did harm."""
        yield from (_key(one) for one in bad if _tensor_id(one) in self._written)
        if moment.call < 0:  # a dataset: what it hands on is data
            yield from (_key(one) for one in bad if _tensor_id(one) in self._handed_on)
        for uid, one in moment.returned():
            if one.bad and self._did_harm(uid):
                yield _key(one)

    @cached_property
    def _written(self) -> set[int]:
        """Ids of tensors that a function writes to a variable."""
        flow = self.calls.flow
        return {
            source.tensor
            for instance, function in self._instances()
            for number, node in enumerate(function.nodes)
            if writes_variables(node.type)
            for slot in flow.slots(instance, number)
            for source in slot
        }

    @cached_property
    def _handed_on(self) -> set[int]:
        """Ids of tensors that a function returns to whoever called it from outside."""
        flow = self.calls.flow
        return {
            source.tensor
            for instance, function in self._instances()
            if instance.parent < 0
            for output in range(len(function.returns))
            for source in flow.returned(instance, output)
        }

    def _instances(self) -> Iterator[tuple[Instance, Function]]:
        catalogue = self.process.catalogue
        for instance in catalogue.instances.values():
            function = catalogue.functions.get(instance.function)
            if function is not None:
                yield instance, function

    def _did_harm(self, uid: int) -> bool:
        """An eager tensor that nobody took, or that a variable took, or from which something bad was made."""
        takers = self.calls.consumers.get(uid, [])
        return not takers or any(self._taker_is_bad(call) for call in takers[:MAX_TAKERS])

    def _taker_is_bad(self, call: int) -> bool:
        row = self.calls.rows.get(call)
        op = self.process.catalogue.eager.get(int(row["op"])) if row is not None else None
        if op is not None and writes_variables(op.type):
            return True
        return any(True for _ in self.calls.moment(call).bad())


def _tensor_id(one: Observed) -> int:
    return int(one.row["tensor"]) if one.row is not None else -1


def _key(one: Observed) -> tuple[int, int, int]:
    """What tells a tensor of one moment from the others: its id, frame and iteration."""
    if one.row is None:
        return (-1, 0, 0)
    return int(one.row["tensor"]), int(one.row["frame"]), int(one.row["iteration"])
