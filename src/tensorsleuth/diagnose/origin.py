"""Finds where bad values are born: a bad tensor all of whose inputs were healthy, and which did harm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.diagnose.moment import Calls, Moment
from tensorsleuth.diagnose.observed import Observed
from tensorsleuth.model.ops import writes_variables
from tensorsleuth.model.rows import EventFlag, EventKind
from tensorsleuth.trace.process import ProcessTrace

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
        for number, call in enumerate(self._bad_calls()):
            origins = list(self._origins(self.calls.moment(call)))
            yield from origins
            if any(not origin.masked for origin in origins) or number >= MAX_CALLS:
                return

    def _bad_calls(self) -> Iterator[int]:
        """The calls in which anything was bad, in the order in which they were made."""
        events = self.process.events
        bad = events[events["flags"] & EventFlag.BAD != 0]
        joined = self.process.call_of_step
        numbers = {
            int(row["step"]) if row["kind"] == EventKind.EAGER else joined.get(int(row["step"]))
            for row in bad[np.unique(bad["step"], return_index=True)[1]]
        }
        yield from sorted(number for number in numbers if number is not None)

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
        for one in bad:
            if one.tensor.eager is not None:
                if self._leaves_harm(one):
                    yield _key(one)
            elif _tensor_id(one) in self._exits:
                yield _key(one)

    @cached_property
    def _exits(self) -> set[int]:
        """Ids of tensors that a function returns to Python, or writes to a variable."""
        exits: set[int] = set()
        catalogue, flow = self.process.catalogue, self.calls.flow
        for instance in catalogue.instances.values():
            function = catalogue.functions.get(instance.function)
            if function is None:
                continue
            if instance.parent < 0:
                for output in range(len(function.returns)):
                    exits.update(source.tensor for source in flow.returned(instance, output))
            for number, node in enumerate(function.nodes):
                if writes_variables(node.type):
                    exits.update(source.tensor for slot in flow.slots(instance, number) for source in slot)
        return exits

    def _leaves_harm(self, one: Observed) -> bool:
        """An eager tensor that nobody takes, or that a variable takes, or from which something bad was made."""
        uid = int(one.row["iteration"]) | int(one.row["frame"]) << 32 if one.row is not None else 0
        takers = self.calls.consumers.get(uid, [])
        if not takers:
            return True
        return any(self._taker_is_bad(call) for call in takers)

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
