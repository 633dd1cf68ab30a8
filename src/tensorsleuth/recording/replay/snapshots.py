"""Variables of a replayable function before a call: read at intervals, and recomputed for the calls between.

If somebody holds the old value of a variable, TensorFlow copies it before a write in place. A snapshot that serves
several calls costs one copy for all of them. To get the values before a later call, the replayer runs the earlier calls
again. This works only if nobody else writes these variables in between.
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
MAX_KEPT_BYTES = 64 << 20  # the most bytes of inputs that are kept for the calls since a snapshot
MIN_SNAPSHOT_BYTES = 1 << 20  # a copy of fewer bytes takes no noticeable time


@dataclass(frozen=True)
class EarlierCall:
    """A call that ended well after the snapshot was taken."""

    number: int
    inputs: Sequence[Any]


@dataclass
class VariableSnapshot:
    """The values of a function's variables, and the calls since."""

    values: Sequence[Any]
    handles: frozenset[int] = frozenset()  # of the variables
    eager_writes: int = -1  # the number of eager ops that had written a variable
    bytes_left: int = 0  # how many more bytes of inputs may be kept
    calls: list[EarlierCall] = field(default_factory=list)

    def is_usable(self, handles: frozenset[int], writes: int) -> bool:
        return (
            self.bytes_left > 0
            and len(self.calls) < MAX_CALLS
            and self.eager_writes == writes
            and self.handles == handles
        )


class VariableSnapshots:
    """The latest snapshot of each function."""

    def __init__(self, replay_store: ReplayStore) -> None:
        self._keeper = replay_store
        self._last: dict[str, VariableSnapshot] = {}

    def before_call(self, name: str, variable_arguments: VariableArguments, inputs: Sequence[Any]) -> VariableSnapshot:
        """Return a snapshot with the variables' values: the latest one if it is still usable, else a new one."""
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
        """Add a call that ended well, so that the next call may use the same snapshot."""
        if self._last.get(name) is not variable_snapshot:
            self._keeper.drop(number)
            return
        variable_snapshot.calls.append(EarlierCall(number, inputs))
        variable_snapshot.bytes_left -= sum(map(_kept_bytes, inputs)) + self._keeper.bytes(number)

    def drop_written(self, name: str, handles: frozenset[int]) -> None:
        """Drop the snapshots of other functions with these variables, because a function is about to write them."""
        for other in [other for other, last in self._last.items() if other != name and last.handles & handles]:
            self.drop(other)

    def drop(self, name: str) -> None:
        """Drop a snapshot and the inputs of the calls since."""
        last = self._last.pop(name, None)
        for call in last.calls if last is not None else ():
            self._keeper.drop(call.number)

    def drop_all(self) -> None:
        for name in list(self._last):
            self.drop(name)


def _kept_bytes(argument: Any) -> int:
    """Return the bytes that a kept argument takes. A variable takes none, because the snapshot has its value."""
    is_value = isinstance(argument, tf.EagerTensor) and argument._datatype_enum() != RESOURCE
    return tf.bytes_of(argument) if is_value else 0
