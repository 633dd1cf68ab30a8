"""The flight recorder: keeps the start of each call of a function, and replays a call that went bad, with probes.

This finds what happens in functions that XLA compiles, which allow no probes, and in the mode FLIGHT, which uses none.
The start of a call consists of its arguments, the values of its variables, and its outside inputs (`side_effects`). We
hold references to all of these, and drop them if the call produced nothing bad.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.recording.functions.function_outline import FunctionOutline
from tensorsleuth.recording.functions.watched_functions import WatchedFunctions
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
_CallVariables = tuple[
    VariableArguments, VariableArguments
]  # all variables of a function, and the float ones that it writes


@dataclass(frozen=True)
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
        self._variables: dict[str, _CallVariables | None] = {}
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
            self._snapshots.drop_all()  # the call may write any variable
            return None
        variables, written = kind
        snapshot = self._snapshot(name, variables, written, inputs)
        self._under_way.add(number)
        before = snapshot.values, self.store.bad_count(), tuple(snapshot.calls), snapshot
        return ReplayableCall(name, find, inputs, outline, variables, written, *before)

    def _snapshot(
        self, name: str, variable_arguments: VariableArguments, written: VariableArguments, inputs: Sequence[Any]
    ) -> VariableSnapshot:
        self._snapshots.drop_written(name, frozenset(handle._id for handle in written.handles(inputs)))
        if self._under_way:  # another running call may write any variable at any time
            self._snapshots.drop_all()
        if self._under_way or not self._functions.checks_writes(name):
            return VariableSnapshot(variable_arguments.read(inputs))
        return self._snapshots.before_call(name, variable_arguments, inputs)

    def end(self, call: FunctionCall, replayable_call: ReplayableCall, outputs: Sequence[Any]) -> None:
        """Check a call that returned, and replay it if anything in it went bad."""
        if not self._needs_check(call, replayable_call, raised=False):
            return
        floats = {at: tensor for at, tensor in enumerate(outputs) if is_float(tensor._datatype_enum())}
        bad = {-1 - at for at, tensor in floats.items() if self.store.any_bad([tensor])}
        something = bool(bad) or self.store.bad_count() != replayable_call.bad_before
        if something or self._is_due(replayable_call, floats.values()):
            bad |= self._readings.note(replayable_call, call.place)
        if (bad or something) and self._is_news(replayable_call.name, frozenset(bad)):
            self.replayer.replay(call, replayable_call, outputs, bool(bad))
            self._snapshots.drop(replayable_call.name)
        else:
            if replayable_call.outline.compiled and any(wants(call) for wants in self._observers.wants_replay):
                self.replayer.inspect(call, replayable_call)
            self._snapshots.add_call(
                replayable_call.name, call.number, replayable_call.inputs, replayable_call.snapshot
            )

    def _is_due(self, replayable_call: ReplayableCall, outputs: Iterable[Any]) -> bool:
        """Return whether to read the variables that a call wrote, although nothing bad was seen."""
        return not self._functions.checks_writes(replayable_call.name) or self._read_intervals[
            replayable_call.name
        ].is_due(outputs)

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
        """Drop all that is kept."""
        self._snapshots.drop_all()
        self.store.clear()

    def fail(self, call: FunctionCall, replayable_call: ReplayableCall) -> None:
        """Replay a call that raised, which shows the inputs of the op that raised."""
        if self._needs_check(call, replayable_call, raised=True) and self._is_news(replayable_call.name, frozenset()):
            self.replayer.replay(call, replayable_call, None, True)
        self._snapshots.drop(replayable_call.name)  # the call may have written some of the variables

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
    ) -> _CallVariables | None:
        if name not in self._variables:
            self._variables[name] = self._find_variables(name, function_outline, inputs)
        return self._variables[name]

    def _find_variables(
        self, name: str, function_outline: FunctionOutline, inputs: Sequence[Any]
    ) -> _CallVariables | None:
        variables = variables_among(inputs)
        why_not = function_outline.why_not_replayable or self._too_large(variables, inputs)
        if why_not:
            why, writes = f"it cannot be run again: {why_not}", bool(function_outline.written_arguments)
            self._catalog.not_covered(f"the inside of {name}", why, unseen=writes)
            return None
        return variables, variables.floats().only(function_outline.written_arguments)

    def _too_large(self, variable_arguments: VariableArguments, inputs: Sequence[Any]) -> str | None:
        """Return a reason if the memory cannot hold the variables' values from before and after the call."""
        size, room = sum(tf.bytes_of(value) for value in variable_arguments.read(inputs)), free_memory()
        if room is not None and size > room / 2:
            return f"its variables take {size / 1e9:.1f} GB, and {room / 1e9:.1f} GB are free"
        return None
