"""Variables of a replayable function before a call: read at intervals, and recomputed for the calls between.

TensorFlow copies a variable that is written in place while somebody holds what it held before. Held for several
calls, it is copied once for all of them; what a later call began with is found by running the earlier ones again.
That is so only where nobody else writes these variables in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.recording.replay.replay_inputs import Keeper
from tensorsleuth.recording.replay.variable_state import Variables
from tensorsleuth.recording.tensorflow import internals as tf

MOST_CALLS = 8
MOST_BYTES = 64 << 20  # of what the calls between take
WORTH_IT = 1 << 20  # bytes: to copy less takes no time


@dataclass(frozen=True)
class Earlier:
    """A call that ran on a snapshot, and ended well."""

    number: int
    inputs: Sequence[Any]


@dataclass
class Snapshot:
    """The values of a function's variables, and the calls that ran since."""

    values: Sequence[Any]
    handles: frozenset[int] = frozenset()  # of the variables
    writes: int = -1  # how many of the program's eager ops had written a variable
    room: int = 0  # bytes that calls may still take along
    calls: list[Earlier] = field(default_factory=list)

    def goes_on(self, handles: frozenset[int], writes: int) -> bool:
        return self.room > 0 and len(self.calls) < MOST_CALLS and self.writes == writes and self.handles == handles


class Snapshots:
    """The last snapshot of each function."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._last: dict[str, Snapshot] = {}

    def before(self, name: str, variables: Variables, inputs: Sequence[Any]) -> Snapshot:
        """Return the values before a call of a function that runs by itself, many times."""
        handles = frozenset(handle._id for handle in variables.handles(inputs))
        last = self._last.get(name)
        if last is not None and last.goes_on(handles, self._keeper.eager_writes()):
            return last
        self.drop(name)
        values = variables.read(inputs)
        if sum(map(tf.bytes_of, values)) < WORTH_IT:
            return Snapshot(values)
        self._last[name] = Snapshot(values, handles, self._keeper.eager_writes(), MOST_BYTES)
        return self._last[name]

    def ended(self, name: str, number: int, inputs: Sequence[Any], snapshot: Snapshot) -> None:
        """A call ended well: the next one may begin from the same snapshot."""
        if self._last.get(name) is not snapshot:
            self._keeper.drop(number)
            return
        snapshot.calls.append(Earlier(number, inputs))
        snapshot.room -= sum(map(_size, inputs)) + self._keeper.bytes(number)

    def written(self, name: str, handles: frozenset[int]) -> None:
        """A function is about to write variables: no other one's snapshot of them goes on."""
        for other in [other for other, last in self._last.items() if other != name and last.handles & handles]:
            self.drop(other)

    def drop(self, name: str) -> None:
        """Let go of a snapshot, and of what the calls on it took."""
        last = self._last.pop(name, None)
        for call in last.calls if last is not None else ():
            self._keeper.drop(call.number)

    def drop_all(self) -> None:
        for name in list(self._last):
            self.drop(name)


def _size(argument: Any) -> int:
    """Bytes that are kept with a call's argument; those of a variable are the snapshot's."""
    is_value = isinstance(argument, tf.EagerTensor) and argument._datatype_enum() != RESOURCE
    return tf.bytes_of(argument) if is_value else 0
