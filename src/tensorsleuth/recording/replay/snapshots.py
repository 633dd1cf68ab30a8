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
from tensorsleuth.recording.replay.replay_inputs import ReplayStore
from tensorsleuth.recording.replay.variable_state import VariableArguments
from tensorsleuth.recording.tensorflow import internals as tf

MAX_CALLS = 8
MAX_KEPT_BYTES = 64 << 20  # of what the calls between take
MIN_SNAPSHOT_BYTES = 1 << 20  # bytes: to copy less takes no time


@dataclass(frozen=True)
class EarlierCall:
    """A call that ran on a snapshot, and ended well."""

    number: int
    inputs: Sequence[Any]


@dataclass
class VariableSnapshot:
    """The values of a function's variables, and the calls that ran since."""

    values: Sequence[Any]
    handles: frozenset[int] = frozenset()  # of the variables
    eager_writes: int = -1  # how many of the program's eager ops had written a variable
    bytes_left: int = 0  # bytes that calls may still take along
    calls: list[EarlierCall] = field(default_factory=list)

    def is_usable(self, handles: frozenset[int], writes: int) -> bool:
        return (
            self.bytes_left > 0
            and len(self.calls) < MAX_CALLS
            and self.eager_writes == writes
            and self.handles == handles
        )


class VariableSnapshots:
    """The last snapshot of each function."""

    def __init__(self, replay_store: ReplayStore) -> None:
        self._keeper = replay_store
        self._last: dict[str, VariableSnapshot] = {}

    def before_call(self, name: str, variable_arguments: VariableArguments, inputs: Sequence[Any]) -> VariableSnapshot:
        """Return the values before a call of a function that runs by itself, many times."""
        handles = frozenset(handle._id for handle in variable_arguments.handles(inputs))
        last = self._last.get(name)
        if last is not None and last.is_usable(handles, self._keeper.eager_writes()):
            return last
        self.drop(name)
        values = variable_arguments.read(inputs)
        if sum(map(tf.bytes_of, values)) < MIN_SNAPSHOT_BYTES:
            return VariableSnapshot(values)
        self._last[name] = VariableSnapshot(values, handles, self._keeper.eager_writes(), MAX_KEPT_BYTES)
        return self._last[name]

    def add_call(self, name: str, number: int, inputs: Sequence[Any], variable_snapshot: VariableSnapshot) -> None:
        """A call ended well: the next one may begin from the same snapshot."""
        if self._last.get(name) is not variable_snapshot:
            self._keeper.drop(number)
            return
        variable_snapshot.calls.append(EarlierCall(number, inputs))
        variable_snapshot.bytes_left -= sum(map(_kept_bytes, inputs)) + self._keeper.bytes(number)

    def drop_written(self, name: str, handles: frozenset[int]) -> None:
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


def _kept_bytes(argument: Any) -> int:
    """Bytes that are kept with a call's argument; those of a variable are the snapshot's."""
    is_value = isinstance(argument, tf.EagerTensor) and argument._datatype_enum() != RESOURCE
    return tf.bytes_of(argument) if is_value else 0
