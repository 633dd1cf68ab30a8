"""The flight recorder: keeps what each call of a function began with, and runs one that went bad again, with probes.

So is found what happens in functions that XLA compiles, into which no probe can be put, and in the mode FLIGHT, which
looks at nothing else. A call begins with its arguments, the values of the variables it gets, and what it takes from
outside while it runs (`outside`). All of that is held by reference, and let go when nothing bad came of the call.
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
MAX_SAME_REPLAYS = 2  # in which the same went bad
_CallVariables = tuple[
    VariableArguments, VariableArguments
]  # all of a function's variables, and those it writes whose values are numbers


@dataclass(frozen=True)
class ReplayableCall:
    """One call, as it began."""

    name: str
    find_graph: Callable[[], Any]  # its Python graph
    inputs: Sequence[Any]
    outline: FunctionOutline
    variables: VariableArguments
    written: VariableArguments
    values: Sequence[Any]  # of the variables
    bad_before: int
    earlier: tuple[EarlierCall, ...]  # calls that ran since the variables had these values
    snapshot: VariableSnapshot  # which they come from


class ReplayBuffer:
    """The calls that are under way, and what has been found out about those that went bad."""

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
        self._under_way: set[int] = set()  # calls that keep what they began with
        self._to_save: set[int] = set()
        self._replays: Counter[str] = Counter()
        self._same_failures: Counter[tuple[str, frozenset[int]]] = Counter()

    def begin(self, number: int, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> ReplayableCall | None:
        """A function that keeps what it begins with is about to be called; None where it cannot be run again."""
        outline = self._functions.outline(name)
        kind = self._variables_of(name, outline, inputs)
        if kind is None:
            self._snapshots.drop_all()  # who knows what it writes
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
        if self._under_way:  # who writes what, and when, is anybody's guess
            self._snapshots.drop_all()
        if self._under_way or not self._functions.checks_writes(name):
            return VariableSnapshot(variable_arguments.read(inputs))
        return self._snapshots.before_call(name, variable_arguments, inputs)

    def end(self, call: FunctionCall, replayable_call: ReplayableCall, outputs: Sequence[Any]) -> None:
        """It came back: did anything go bad."""
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
        """Return whether it is time to look at what a call wrote, though nothing that was seen of it is bad."""
        return not self._functions.checks_writes(replayable_call.name) or self._read_intervals[
            replayable_call.name
        ].is_due(outputs)

    def _needs_check(self, call: FunctionCall, replayable_call: ReplayableCall, raised: bool) -> bool:
        """A call has ended. Save it where somebody asked for that; is there more to find out about it?"""
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
        """Save a call that is under way, when it has ended; False where it keeps nothing."""
        if call not in self._under_way:
            return False
        self._to_save.add(call)
        return True

    def close(self) -> None:
        """Let go of all that is kept."""
        self._snapshots.drop_all()
        self.store.clear()

    def fail(self, call: FunctionCall, replayable_call: ReplayableCall) -> None:
        """It raised: what went into the op that did is seen when it does so again."""
        if self._needs_check(call, replayable_call, raised=True) and self._is_news(replayable_call.name, frozenset()):
            self.replayer.replay(call, replayable_call, None, True)
        self._snapshots.drop(replayable_call.name)  # it may have written a part

    def _is_news(self, name: str, bad: frozenset[int]) -> bool:
        """Is it worth to run a call again in which these went bad: variables from 0 up, outputs from -1 down."""
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
            self._catalog.not_covered(f"the inside of {name}", f"it cannot be run again: {why_not}")
            return None
        return variables, variables.floats().only(function_outline.written_arguments)

    def _too_large(self, variable_arguments: VariableArguments, inputs: Sequence[Any]) -> str | None:
        """The values from before are kept beside those from after: is there room for both."""
        size, room = sum(tf.bytes_of(value) for value in variable_arguments.read(inputs)), free_memory()
        if room is not None and size > room / 2:
            return f"its variables take {size / 1e9:.1f} GB, and {room / 1e9:.1f} GB are free"
        return None
