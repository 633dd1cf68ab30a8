"""Variables of a replayable function before a call: read at intervals, and recomputed for the calls between.

A reading takes as long as a short step. And if somebody holds the old value of a variable, TensorFlow copies it before
a write in place. A snapshot that serves several calls costs one reading and one copy for all of them. To get the values
before a later call, the replayer runs the earlier calls again. This works only if nobody else writes these variables in
between.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.recording.observer import FunctionCall
from tensorsleuth.recording.replay.replay_inputs import ReplayStore
from tensorsleuth.recording.replay.variable_state import VariableArguments
from tensorsleuth.recording.tensorflow import internals as tf

if TYPE_CHECKING:
    from tensorsleuth.recording.replay.replay_buffer import ReplayableCall

MAX_KEPT_BYTES = 64 << 20  # the most bytes of inputs that are kept for the calls since a snapshot


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call that ended well after the snapshot was taken."""

    number: int
    inputs: Sequence[Any]
    step: int


@dataclass
class VariableSnapshot:
    """The values of a function's variables, and the calls since."""

    values: Sequence[Any]
    handles: Sequence[Any] = ()  # of the variables
    eager_writes: int = -1  # the number of eager ops that had written a variable
    bytes_left: int = 0  # how many more bytes of inputs may be kept
    calls: list[EarlierCall] = field(default_factory=list)
    latest: tuple[FunctionCall, ReplayableCall] | None = None  # the last of these calls
    users: set[int] = field(default_factory=set)  # the running calls whose replay would begin here
    is_dropped: bool = False

    def is_usable(self, handles: Sequence[Any], writes: int) -> bool:
        return (
            self.bytes_left > 0
            and self.eager_writes == writes
            and len(self.handles) == len(handles)
            and all(map(operator.is_, self.handles, handles))
        )


class VariableSnapshots:
    """The latest snapshot of each function."""

    def __init__(self, replay_store: ReplayStore) -> None:
        self._keeper = replay_store
        self._last: dict[str, VariableSnapshot] = {}

    def usable(
        self, name: str, variable_arguments: VariableArguments, inputs: Sequence[Any]
    ) -> VariableSnapshot | None:
        """Return the latest snapshot of a function if it still tells the values before a call with these inputs."""
        last = self._last.get(name)
        handles = variable_arguments.handles(inputs)
        return last if last is not None and last.is_usable(handles, self._keeper.eager_writes()) else None

    def take(
        self, name: str, variable_arguments: VariableArguments, inputs: Sequence[Any], values: Sequence[Any]
    ) -> VariableSnapshot:
        """Keep the variables' current values for the calls from now on."""
        self.drop(name)
        handles = variable_arguments.handles(inputs)
        snapshot = VariableSnapshot(values, handles, self._keeper.eager_writes(), MAX_KEPT_BYTES)
        self._last[name] = snapshot
        return snapshot

    def is_latest(self, name: str, variable_snapshot: VariableSnapshot) -> bool:
        return self._last.get(name) is variable_snapshot

    def add_call(self, call: FunctionCall, replayable_call: ReplayableCall, step: int) -> None:
        """Add a call that ended well, so that the next call may use the same snapshot."""
        snapshot = replayable_call.snapshot
        inputs = [replayable_call.inputs[at] for at in replayable_call.other_arguments]
        snapshot.bytes_left -= sum(map(_kept_bytes, inputs)) + self._keeper.bytes(call.number)
        snapshot.calls.append(EarlierCall(call.number, replayable_call.inputs, step))
        snapshot.latest = call, replayable_call

    def sharing(self, name: str, variable_arguments: VariableArguments, inputs: Sequence[Any]) -> list[str]:
        """Return the other functions whose snapshots have some of these variables."""
        others = [other for other in self._last if other != name]
        if not others:
            return []
        written = {id(handle) for handle in variable_arguments.handles(inputs)}
        return [other for other in others if any(id(handle) in written for handle in self._last[other].handles)]

    def of(self, name: str) -> VariableSnapshot | None:
        return self._last.get(name)

    def names(self) -> list[str]:
        return list(self._last)

    def drop(self, name: str) -> None:
        """Drop a snapshot, and the inputs of the calls since unless a call of another thread may still replay them."""
        last = self._last.pop(name, None)
        if last is not None:
            last.is_dropped = True
            self._forget_unused(last)

    def release(self, snapshot: VariableSnapshot, call: int) -> None:
        """Forget a call that has ended, and the inputs that were kept only for it."""
        snapshot.users.discard(call)
        self._forget_unused(snapshot)

    def _forget_unused(self, snapshot: VariableSnapshot) -> None:
        if snapshot.is_dropped and not snapshot.users:
            for call in snapshot.calls:
                self._keeper.drop(call.number)

    def drop_all(self) -> None:
        for name in self.names():
            self.drop(name)


def _kept_bytes(argument: Any) -> int:
    """Return the bytes that a kept argument takes. A variable takes none, because the snapshot has its value."""
    is_value = isinstance(argument, tf.EagerTensor) and argument._datatype_enum() != RESOURCE
    return tf.bytes_of(argument) if is_value else 0
