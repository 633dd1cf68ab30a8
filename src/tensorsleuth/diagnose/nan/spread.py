"""The tensors that became bad because of one tensor, from its origin through calls and functions to the harm."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tensorsleuth.core.ops.kinds import ARRIVALS, LOOKS_ON, RAISES_ON_BAD, TESTS, is_dataset, writes_variables
from tensorsleuth.diagnose.nan.origins import Birth, BirthFinder
from tensorsleuth.trace.dataflow.call_graph import Moment
from tensorsleuth.trace.dataflow.collectives import received
from tensorsleuth.trace.dataflow.observed import Key, Observed

MAX_REACHED = 4000
MAX_TAKERS = 30
MAX_BATCHES = 4


class Spread:
    """Walks forward from a birth, through bad tensors only."""

    def __init__(self, finder: BirthFinder, birth: Birth) -> None:
        self._finder = finder
        self._moments = finder.moments
        self.birth = birth
        self.reached: dict[Key, Observed] = {}
        self._parents: dict[Key, Key] = {}
        self.variables: dict[int, Key] = {}  # handle -> what was written to it
        self.left: list[Key] = []  # what Python got, and nothing took from it
        self.raised: list[Key] = []  # an op that checks for bad values refused it
        self._walk()

    @property
    def harm(self) -> bool:
        return bool(self.variables or self.left or self.raised) or self._is_write

    @property
    def _is_write(self) -> bool:
        return self.birth.moment.call != self.birth.out.call  # born as it was written to a variable

    @property
    def written(self) -> list[int]:
        """The variables, the model's own before those of metrics and of the optimizer."""
        known = self._finder.process.catalogue.variables
        return sorted(self.variables, key=lambda handle: known.get(handle, ("", ""))[1])

    def _walk(self) -> None:
        start = self.birth.out
        self.reached[start.key] = start
        todo = [start]
        for one in todo:
            self._note_sinks(one)
            if len(self.reached) > MAX_REACHED:
                return
            for child in self._children(one):
                if child.key not in self.reached:
                    self.reached[child.key] = child
                    self._parents[child.key] = one.key
                    todo.append(child)

    def _children(self, one: Observed) -> Iterator[Observed]:
        moment = self._moments.of(one)
        yield from moment.bad_users.get(one.key, [])
        yield from received(moment, one)
        if one.call < 0:
            yield from self._finder.bad_batches[:MAX_BATCHES] if self._is_handed_on(one) else []
        for call in self._takers(moment, one):
            yield from self._moments.of_call(call).bad_users.get(one.key, [])
            op = self._moments.calls.op(call)
            if op is not None and is_dataset(op.type):  # what it is made of comes back as batches
                yield from self._finder.bad_batches[:MAX_BATCHES]
                yield from self._finder.bad_elements[:MAX_BATCHES]

    def _takers(self, moment: Moment, one: Observed) -> list[int]:
        uids = moment.returned.get(one.key, [])
        return [call for uid in uids for call in self._moments.calls.consumers(uid)[:MAX_TAKERS] if call != one.call]

    def _is_handed_on(self, one: Observed) -> bool:
        return one.row is not None and int(one.row["tensor"]) in self._finder.handed_on

    # ---- where it did harm

    def _note_sinks(self, one: Observed) -> None:
        moment = self._moments.of(one)
        for handle in self._finder.variables.bad_writes(one.call).get(one.key, []) if one.call >= 0 else []:
            self.variables.setdefault(handle, one.key)
        takers = [(call, op) for call in self._takers(moment, one) if (op := self._moments.calls.op(call)) is not None]
        for call, op in takers:
            if writes_variables(op.type):
                self.variables.setdefault(self._moments.calls.inputs(call)[0], one.key)
        if moment.returned.get(one.key) and self._is_left(
            [op.type for _, op in takers if op.type not in LOOKS_ON], one
        ):
            self.left.append(one.key)
        if self._is_refused(one):
            self.raised.append(one.key)

    def _is_refused(self, one: Observed) -> bool:
        tensor, flow = one.tensor, self._moments.flow
        if tensor.node is None or tensor.function is None:
            return False
        users = flow.users(tensor.function, tensor.function.number(tensor.node))
        return any(tensor.function.nodes[user].type in RAISES_ON_BAD for user in users)

    def _is_left(self, takers: list[str], one: Observed) -> bool:
        """Nobody took it, or it was only asked whether it is bad and the program then came to its end."""
        if any(taker not in TESTS for taker in takers) or one.op in ARRIVALS:
            return False
        return not takers or self._finder.last_step(one.call)

    # ---- forward and backward

    @cached_property
    def forward(self) -> dict[Key, Observed]:
        """As far as it spread before any gradient took it on."""
        found = {self.birth.out.key: self.birth.out}
        for key, one in self.reached.items():  # parents stand before their children
            if self._parents.get(key) in found and not one.is_gradient:
                found[key] = one
        return found

    @property
    def forward_ends(self) -> list[Observed]:
        """The last of the forward pass: from there it was masked, or a gradient took it."""
        passed_on = {self._parents[key] for key in self.forward if key in self._parents}
        return [one for key, one in self.forward.items() if key not in passed_on]

    @property
    def only_in_gradient(self) -> bool:
        """The forward pass got rid of it; what it spoiled, it spoiled through a gradient."""
        if self.birth.out.is_gradient or not any(one.is_gradient for one in self.reached.values()):
            return False
        sinks = {*self.variables.values(), *self.left, *self.raised}
        return bool(sinks) and not any(key in self.forward for key in sinks)

    # ---- from birth to symptom

    @property
    def path(self) -> list[Observed]:
        """The shortest way to where it did harm: to a result that Python got rather than to a variable."""
        results = [key for key in self.left if not self.reached[key].is_gradient]
        sinks = [*results, *self.variables.values(), *self.left, *self.raised]
        if not sinks:
            return []
        key: Key | None = sinks[0]
        way: list[Observed] = []
        while key is not None:
            way.insert(0, self.reached[key])
            key = self._parents.get(key)
        return way
