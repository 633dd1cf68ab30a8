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
from tensorsleuth.recording.functions.outline import Outline
from tensorsleuth.recording.functions.watched_functions import Functions
from tensorsleuth.recording.observer import FunctionCall, Observers
from tensorsleuth.recording.replay.free_memory import free_memory
from tensorsleuth.recording.replay.read_interval import Pace
from tensorsleuth.recording.replay.replay_inputs import Keeper
from tensorsleuth.recording.replay.replayer import Replayer
from tensorsleuth.recording.replay.snapshots import Earlier, Snapshot, Snapshots
from tensorsleuth.recording.replay.variable_readings import Readings
from tensorsleuth.recording.replay.variable_state import Variables, variables_among
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

MOST_REPLAYS = 8  # of one function
MOST_ALIKE = 2  # in which the same went bad
_Kind = tuple[Variables, Variables]  # all of a function's variables, and those it writes whose values are numbers


@dataclass(frozen=True)
class Flight:
    """One call, as it began."""

    name: str
    find: Callable[[], Any]  # its Python graph
    inputs: Sequence[Any]
    outline: Outline
    variables: Variables
    written: Variables
    values: Sequence[Any]  # of the variables
    bad_seen: int
    earlier: tuple[Earlier, ...]  # calls that ran since the variables had these values
    snapshot: Snapshot  # which they come from


class Flights:
    """The calls that are under way, and what has been found out about those that went bad."""

    def __init__(
        self,
        catalog: CatalogWriter,
        functions: Functions,
        keeper: Keeper,
        readings: Readings,
        replayer: Replayer,
        observers: Observers,
    ) -> None:
        self._catalog = catalog
        self._functions = functions
        self.keeper = keeper
        self._readings = readings
        self.replayer = replayer
        self._observers = observers
        self._lock = threading.Lock()
        self._kinds: dict[str, _Kind | None] = {}
        keeper.clear()
        self._snapshots = Snapshots(keeper)
        self._paces: defaultdict[str, Pace] = defaultdict(Pace)
        self._under_way: set[int] = set()  # calls that keep what they began with
        self._to_save: set[int] = set()
        self._replays: Counter[str] = Counter()
        self._alike: Counter[tuple[str, frozenset[int]]] = Counter()

    def begin(self, number: int, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> Flight | None:
        """A function that keeps what it begins with is about to be called; None where it cannot be run again."""
        outline = self._functions.outline(name)
        kind = self._kind(name, outline, inputs)
        if kind is None:
            self._snapshots.drop_all()  # who knows what it writes
            return None
        variables, written = kind
        snapshot = self._snapshot(name, variables, written, inputs)
        self._under_way.add(number)
        before = snapshot.values, self.keeper.bad_seen(), tuple(snapshot.calls), snapshot
        return Flight(name, find, inputs, outline, variables, written, *before)

    def _snapshot(self, name: str, variables: Variables, written: Variables, inputs: Sequence[Any]) -> Snapshot:
        self._snapshots.written(name, frozenset(handle._id for handle in written.handles(inputs)))
        if self._under_way:  # who writes what, and when, is anybody's guess
            self._snapshots.drop_all()
        if self._under_way or not self._functions.sees_writes(name):
            return Snapshot(variables.read(inputs))
        return self._snapshots.before(name, variables, inputs)

    def ended(self, call: FunctionCall, flight: Flight, outputs: Sequence[Any]) -> None:
        """It came back: did anything go bad."""
        if not self._goes_on(call, flight, raised=False):
            return
        floats = {at: tensor for at, tensor in enumerate(outputs) if is_float(tensor._datatype_enum())}
        bad = {-1 - at for at, tensor in floats.items() if self.keeper.any_bad([tensor])}
        something = bool(bad) or self.keeper.bad_seen() != flight.bad_seen
        if something or self._is_due(flight, floats.values()):
            bad |= self._readings.note(flight, call.place)
        if (bad or something) and self._is_news(flight.name, frozenset(bad)):
            self.replayer.replay(call, flight, outputs, bool(bad))
            self._snapshots.drop(flight.name)
        else:
            if flight.outline.compiled and any(wants(call) for wants in self._observers.wants_replay):
                self.replayer.look(call, flight)
            self._snapshots.ended(flight.name, call.number, flight.inputs, flight.snapshot)

    def _is_due(self, flight: Flight, outputs: Iterable[Any]) -> bool:
        """Return whether it is time to look at what a call wrote, though nothing that was seen of it is bad."""
        return not self._functions.sees_writes(flight.name) or self._paces[flight.name].is_due(outputs)

    def _goes_on(self, call: FunctionCall, flight: Flight, raised: bool) -> bool:
        """A call has ended. Save it where somebody asked for that; is there more to find out about it?"""
        self._under_way.discard(call.number)
        flown = self._functions.is_flown(flight.name)
        if call.number in self._to_save:
            self._to_save.discard(call.number)
            self.replayer.save(call, flight, raised)
            self._snapshots.drop(flight.name)
            if not flown:
                self.keeper.forget()
        elif not flown:
            self.keeper.drop(call.number)
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
        self.keeper.clear()

    def failed(self, call: FunctionCall, flight: Flight) -> None:
        """It raised: what went into the op that did is seen when it does so again."""
        if self._goes_on(call, flight, raised=True) and self._is_news(flight.name, frozenset()):
            self.replayer.replay(call, flight, None, True)
        self._snapshots.drop(flight.name)  # it may have written a part

    def _is_news(self, name: str, bad: frozenset[int]) -> bool:
        """Is it worth to run a call again in which these went bad: variables from 0 up, outputs from -1 down."""
        with self._lock:
            self._alike[(name, bad)] += 1
            if self._alike[(name, bad)] > MOST_ALIKE or self._replays[name] >= MOST_REPLAYS:
                return False
            self._replays[name] += 1
            return True

    def _kind(self, name: str, outline: Outline, inputs: Sequence[Any]) -> _Kind | None:
        if name not in self._kinds:
            self._kinds[name] = self._find_kind(name, outline, inputs)
        return self._kinds[name]

    def _find_kind(self, name: str, outline: Outline, inputs: Sequence[Any]) -> _Kind | None:
        variables = variables_among(inputs)
        why_not = outline.cannot or self._too_large(variables, inputs)
        if why_not:
            self._catalog.not_covered(f"the inside of {name}", f"it cannot be run again: {why_not}")
            return None
        return variables, variables.numbers().only(outline.writes)

    def _too_large(self, variables: Variables, inputs: Sequence[Any]) -> str | None:
        """The values from before are kept beside those from after: is there room for both."""
        size, room = sum(tf.bytes_of(value) for value in variables.read(inputs)), free_memory()
        if room is not None and size > room / 2:
            return f"its variables take {size / 1e9:.1f} GB, and {room / 1e9:.1f} GB are free"
        return None
