"""The flight recorder: keeps the start of each call of a function, and replays a call that went bad, with probes.

This finds what happens in functions that XLA compiles, which allow no probes, and in the mode FLIGHT, which uses none.
The start of a call consists of its arguments, the values of its variables, and its outside inputs (`side_effects`). We
hold references to all of these, and drop them if the call produced nothing bad.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.recording.functions.function_outline import FunctionOutline
from tensorsleuth.recording.functions.watched_functions import WatchedFunctions
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import FunctionCall, Observers
from tensorsleuth.recording.replay.free_memory import free_memory
from tensorsleuth.recording.replay.read_interval import ReadInterval
from tensorsleuth.recording.replay.replay_inputs import ReplayStore
from tensorsleuth.recording.replay.replayer import Replayer
from tensorsleuth.recording.replay.snapshots import EarlierCall, VariableSnapshot, VariableSnapshots
from tensorsleuth.recording.replay.variable_readings import VariableReadings
from tensorsleuth.recording.replay.variable_state import VariableArguments, variables_among
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

MAX_REPLAYS = 8  # of one function
MAX_SAME_REPLAYS = 2  # of calls of one function with the same bad variables and outputs


@dataclass(frozen=True)
class CallVariables:
    """The arguments of a function that are variables."""

    every: VariableArguments
    written: VariableArguments  # the float ones that the function writes
    others: tuple[int, ...]  # the arguments that are no variables


@dataclass(frozen=True, slots=True)
class ReplayableCall:
    """The start of one call."""

    name: str
    find_graph: Callable[[], Any]  # returns its Python graph
    inputs: Sequence[Any]
    outline: FunctionOutline
    variables: VariableArguments
    written: VariableArguments
    values: Sequence[Any]  # of the variables
    bad_before: int
    earlier: tuple[EarlierCall, ...]  # the calls since the variables had these values
    snapshot: VariableSnapshot  # the source of these values
    other_arguments: tuple[int, ...] = ()  # those that are no variables


class ReplayBuffer:
    """The running replayable calls, and the statistics of past replays."""

    def __init__(
        self,
        catalog: CatalogWriter,
        watched_functions: WatchedFunctions,
        replay_store: ReplayStore,
        variable_readings: VariableReadings,
        replayer: Replayer,
        observers: Observers,
    ) -> None:
        self._catalog = catalog
        self._functions = watched_functions
        self.store = replay_store
        self._readings = variable_readings
        self.replayer = replayer
        self._observers = observers
        self._lock = threading.Lock()
        self._variables: dict[str, CallVariables | None] = {}
        replay_store.clear()
        self._snapshots = VariableSnapshots(replay_store)
        self._read_intervals: defaultdict[str, ReadInterval] = defaultdict(ReadInterval)
        self._under_way: set[int] = set()  # the numbers of running calls whose start is kept
        self._to_save: set[int] = set()
        self._replays: Counter[str] = Counter()
        self._same_failures: Counter[tuple[str, frozenset[int]]] = Counter()

    def begin(self, number: int, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> ReplayableCall | None:
        """Keep the start of a call. Return None if the call cannot be replayed."""
        outline = self._functions.outline(name)
        kind = self._variables_of(name, outline, inputs)
        if kind is None:
            self._settle_all()  # the call may write any variable
            return None
        snapshot = self._snapshot(name, kind, inputs)
        snapshot.users.add(number)
        if snapshot.is_dropped:  # by another thread, just now
            snapshot = VariableSnapshot(kind.every.read(inputs))
        self._under_way.add(number)
        before = snapshot.values, self.store.bad_count(), tuple(snapshot.calls), snapshot
        return ReplayableCall(name, find, inputs, outline, kind.every, kind.written, *before, kind.others)

    def _snapshot(self, name: str, variables: CallVariables, inputs: Sequence[Any]) -> VariableSnapshot:
        """Return a snapshot with the variables' values: the latest one if it is still usable, else a new one."""
        for other in self._snapshots.sharing(name, variables.written, inputs):
            self._settle(other)
        if self._under_way:  # another running call may write any variable at any time
            self._settle_all()
        if self._under_way or not self._functions.checks_rarely(name):
            return VariableSnapshot(variables.every.read(inputs))
        latest = self._snapshots.usable(name, variables.every, inputs)
        if latest is None:
            self._settle(name)
            latest = self._snapshots.take(name, variables.every, inputs, variables.every.read(inputs))
        return latest

    def end(self, call: FunctionCall, replayable_call: ReplayableCall, outputs: Sequence[Any]) -> None:
        """Check a call that returned, and replay it if anything in it went bad."""
        try:
            self._check(call, replayable_call, outputs)
        finally:
            self._snapshots.release(replayable_call.snapshot, call.number)

    def _check(self, call: FunctionCall, replayable_call: ReplayableCall, outputs: Sequence[Any]) -> None:
        if not self._needs_check(call, replayable_call, raised=False):
            return
        name = replayable_call.name
        floats = {at: tensor for at, tensor in enumerate(outputs) if is_float(tensor._datatype_enum())}
        bad = {-1 - at for at, tensor in floats.items() if self.store.any_bad([tensor])}
        something = bool(bad) or self.store.bad_count() != replayable_call.bad_before
        values = None
        if something or self._is_due(call, replayable_call, floats.values()):
            values = replayable_call.variables.read(replayable_call.inputs)
            bad |= self._note_values(call, replayable_call, values)
        if bad or something:
            self._replay(call, replayable_call, outputs, bad)
            self._snapshots.drop(name)
            return
        if replayable_call.outline.compiled and any(wants(call) for wants in self._observers.wants_replay):
            self.replayer.inspect(call, replayable_call)
        if not self._snapshots.is_latest(name, replayable_call.snapshot):
            self.store.drop(call.number)
        elif values is None:
            self._snapshots.add_call(call, replayable_call, self.replayer.step())
        else:
            self.store.drop(call.number)
            self._snapshots.take(name, replayable_call.variables, replayable_call.inputs, values)

    def _note_values(self, call: FunctionCall, replayable_call: ReplayableCall, values: Sequence[Any]) -> set[int]:
        """Record the values of the variables that a call wrote. Return the indices of those that are bad."""
        written = replayable_call.variables.among(values, replayable_call.written)
        return self._readings.note(replayable_call, call.place, written)

    def _replay(
        self, call: FunctionCall, replayable_call: ReplayableCall, outputs: Sequence[Any], bad: set[int]
    ) -> None:
        if self._is_news(replayable_call.name, frozenset(bad)):
            self.replayer.replay(call, replayable_call, outputs, bool(bad))

    def _is_due(self, call: FunctionCall, replayable_call: ReplayableCall, outputs: Iterable[Any]) -> bool:
        """Return whether to read the variables that a call wrote, although nothing bad was seen."""
        name = replayable_call.name
        if not self._functions.checks_rarely(name) or not self._snapshots.is_latest(name, replayable_call.snapshot):
            return True
        is_due = self._read_intervals[name].is_due(time.monotonic_ns() - call.began, outputs)
        return is_due or replayable_call.snapshot.bytes_left <= 0

    def _settle_all(self) -> None:
        for name in self._snapshots.names():
            self._settle(name)

    def _settle(self, name: str) -> None:
        """Check the variables that the calls since a snapshot wrote, before the snapshot is dropped."""
        snapshot = self._snapshots.of(name)
        if snapshot is not None and snapshot.latest is not None:
            call, replayable_call = snapshot.latest
            values = replayable_call.variables.read(replayable_call.inputs)
            bad = self._note_values(call, replayable_call, values)
            if bad:
                self._replay(call, replayable_call, (), bad)
        self._snapshots.drop(name)

    def _needs_check(self, call: FunctionCall, replayable_call: ReplayableCall, raised: bool) -> bool:
        """Finish a call, and save it if a user asked for that. Return whether it may need a replay."""
        self._under_way.discard(call.number)
        flown = self._functions.relies_on_replay(replayable_call.name)
        if call.number in self._to_save:
            self._to_save.discard(call.number)
            self.replayer.save(call, replayable_call, raised)
            self._snapshots.drop(replayable_call.name)
            if not flown:
                self.store.forget()
        elif not flown:
            self.store.drop(call.number)
        return flown

    def save(self, call: int) -> bool:
        """Save a running call when it ends. Return False if its start was not kept."""
        if call not in self._under_way:
            return False
        self._to_save.add(call)
        return True

    def close(self) -> None:
        """Check the latest calls, and drop all that is kept."""
        harmless(self._settle_all)
        self._snapshots.drop_all()
        self.store.clear()

    def fail(self, call: FunctionCall, replayable_call: ReplayableCall) -> None:
        """Replay a call that raised, which shows the inputs of the op that raised."""
        try:
            if self._needs_check(call, replayable_call, True) and self._is_news(replayable_call.name, frozenset()):
                self.replayer.replay(call, replayable_call, None, True)
        finally:
            self._snapshots.drop(replayable_call.name)  # the call may have written some of the variables
            self._snapshots.release(replayable_call.snapshot, call.number)

    def _is_news(self, name: str, bad: frozenset[int]) -> bool:
        """Return whether to replay a call with these bad variables (from 0 up) and outputs (from -1 down)."""
        with self._lock:
            self._same_failures[(name, bad)] += 1
            if self._same_failures[(name, bad)] > MAX_SAME_REPLAYS or self._replays[name] >= MAX_REPLAYS:
                return False
            self._replays[name] += 1
            return True

    def _variables_of(
        self, name: str, function_outline: FunctionOutline, inputs: Sequence[Any]
    ) -> CallVariables | None:
        if name not in self._variables:
            self._variables[name] = self._find_variables(name, function_outline, inputs)
        return self._variables[name]

    def _find_variables(
        self, name: str, function_outline: FunctionOutline, inputs: Sequence[Any]
    ) -> CallVariables | None:
        variables = variables_among(inputs)
        why_not = function_outline.why_not_replayable or self._too_large(variables, inputs)
        if why_not:
            why, writes = f"it cannot be run again: {why_not}", bool(function_outline.written_arguments)
            self._catalog.not_covered(f"the inside of {name}", why, unseen=writes)
            return None
        written = variables.floats().only(function_outline.written_arguments)
        others = set(range(len(inputs))) - set(variables.arguments)
        return CallVariables(variables, written, tuple(sorted(others)))

    def _too_large(self, variable_arguments: VariableArguments, inputs: Sequence[Any]) -> str | None:
        """Return a reason if the memory cannot hold the variables' values from before and after the call."""
        size, room = sum(tf.bytes_of(value) for value in variable_arguments.read(inputs)), free_memory()
        if room is not None and size > room / 2:
            return f"its variables take {size / 1e9:.1f} GB, and {room / 1e9:.1f} GB are free"
        return None
