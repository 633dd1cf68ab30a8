"""Observers of a recorder, which may stop the program: break points, the guard, watches, layer statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tensorsleuth.recording.eager.op_sites import OpSite
from tensorsleuth.recording.functions.probes import Selection
from tensorsleuth.recording.functions.watched_functions import WatchedCopy
from tensorsleuth.recording.harmless import harmless

Alarm = BaseException | None  # what to raise in the program
GUARD_STOP_MESSAGE = (
    "tensorsleuth: a value that is not finite"  # how a probe fails where the guard is strict; see probe.cc
)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function that is being called."""

    name: str
    run_name: str  # the name of what runs for it
    inputs: Sequence[Any]
    number: int
    began: int
    place: OpSite
    watched: WatchedCopy | None
    replayable: Any = None  # what it began with, where it may be run again
    trains: bool = False  # does it compute gradients and write variables


class Observer:
    """Watches along with a recorder, on the program's threads. A hook that it does not implement is never called."""

    needs_recorder = False  # is a recorder in memory made for it where nobody records
    sees_all = False  # may the recording not pause while it is attached
    order = 0  # who is told earlier: those that may stop the program come last

    def attach(self, recorder: Any) -> None:
        """Watch through this recorder, by `recorder.attach(self)`; or not, where it has nothing to offer."""

    def detach(self) -> None:
        """Stop watching: the recorder is about to be another."""

    def selection(self, base: Selection) -> Selection:
        """Return what has to be looked at: `base`, and what the observer asks for beyond it."""
        return base

    def replay_selection(self) -> Selection | None:
        """Return what is looked at in calls that are run again only because `wants_replay` said so."""
        return None

    def keeps_steps(self) -> bool:
        """Does every call of a function have to keep what it begins with, so that it can be saved."""
        return False

    def wants_replay(self, call: FunctionCall) -> bool:
        """Is a call of a compiled function that went well to be run again."""
        return False

    def on_function(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """A function is about to be called; `find` gives its Python graph."""

    def on_call_end(self, call: FunctionCall, outputs: Sequence[Any], seen: bool) -> Alarm:
        """A function came back; `seen` where its inside was looked at."""
        return None

    def on_call_failed(self, call: FunctionCall, error: BaseException) -> Alarm:
        """A function raised."""
        return None

    def on_eager_op(self, entry: int, args: tuple[Any, ...], result: Any, place: int) -> None:
        """An eager op has run, in a step in which the native library was told to look into the model."""

    def on_bad_op(self, op: str, inputs: Sequence[Any], call: int, outputs: Sequence[Any]) -> Alarm:
        """An eager op has made something that is not finite, or that a break point is about."""
        return None

    def on_write(self, op: str, inputs: Sequence[Any]) -> Alarm:
        """An eager op is about to write a variable, and something was bad before."""
        return None

    def on_op_failed(self, op: str, error: BaseException) -> Alarm:
        """An eager op raised."""
        return None

    def on_loss(self, targets: Any) -> Alarm:
        """A tape is asked for gradients of these, outside of functions."""
        return None

    def on_gradients(self, sources: Any, gradients: Any) -> Alarm:
        """A tape has given gradients; also while a function is traced."""
        return None

    def on_python_value(self, tensor: Any) -> Alarm:
        """An eager tensor is turned into numbers of Python."""
        return None

    def on_step(self, this: int, following: int) -> None:
        """A step has ended (-1: it has not trained), and another begins."""


class Observers:
    """The observers of one recorder: for each hook, the methods of those that implement it."""

    on_function: Sequence[Callable[[str, Callable[[], Any], Sequence[Any]], None]]
    on_call_end: Sequence[Callable[[FunctionCall, Sequence[Any], bool], Alarm]]
    on_call_failed: Sequence[Callable[[FunctionCall, BaseException], Alarm]]
    on_eager_op: Sequence[Callable[[int, tuple[Any, ...], Any, int], None]]
    on_bad_op: Sequence[Callable[[str, Sequence[Any], int, Sequence[Any]], Alarm]]
    on_write: Sequence[Callable[[str, Sequence[Any]], Alarm]]
    on_op_failed: Sequence[Callable[[str, BaseException], Alarm]]
    on_loss: Sequence[Callable[[Any], Alarm]]
    on_gradients: Sequence[Callable[[Any, Any], Alarm]]
    on_python_value: Sequence[Callable[[Any], Alarm]]
    on_step: Sequence[Callable[[int, int], None]]
    wants_replay: Sequence[Callable[[FunctionCall], bool]]

    def __init__(self) -> None:
        self._all: list[Observer] = []
        self._collect()

    def __iter__(self) -> Iterator[Observer]:
        return iter(list(self._all))

    def add(self, observer: Observer) -> None:
        """Have it told of what it implements; once, however often it is added."""
        if observer not in self._all:
            self._all = sorted([*self._all, observer], key=lambda one: one.order)
            self._collect()

    def remove(self, observer: Observer) -> None:
        self._all = [one for one in self._all if one is not observer]
        self._collect()

    def _collect(self) -> None:
        """Tuples, made anew: a thread that is going through the old one is not disturbed."""
        for hook in HOOK_NAMES:
            setattr(self, hook, tuple(getattr(one, hook) for one in self._all if implements(one, hook)))


HOOK_NAMES = tuple(Observers.__annotations__)


def implements(observer: Observer, hook: str) -> bool:
    """Does an observer have more to a hook than `Observer` has."""
    return getattr(type(observer), hook) is not getattr(Observer, hook)


def first_alarm(hooks: Iterable[Callable[..., Alarm]], *args: Any) -> Alarm:
    """Tell of something until one wants to stop the program; what to raise for it."""
    for hook in hooks:
        alarm = harmless(hook, *args)
        if alarm is not None:
            return alarm
    return None


def tell_all(hooks: Iterable[Callable[..., Alarm]], *args: Any) -> Alarm:
    """Tell everybody; what to raise for the first that wants to stop the program."""
    alarms = [harmless(hook, *args) for hook in hooks]
    return next((alarm for alarm in alarms if alarm is not None), None)
