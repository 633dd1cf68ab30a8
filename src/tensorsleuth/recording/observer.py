"""Observers of a recorder, which may stop the program: break points, the guard, watches, layer statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tensorsleuth.recording.eager.op_sites import OpSite
from tensorsleuth.recording.functions.probes import Selection
from tensorsleuth.recording.functions.watched_functions import WatchedCopy
from tensorsleuth.recording.harmless import harmless

Alarm = BaseException | None  # the exception to raise in the program
GUARD_STOP_MESSAGE = (
    "tensorsleuth: a value that is not finite"  # the error message of a strict guard's probe; see probe.cc
)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a function."""

    name: str
    run_name: str  # the name of the function that runs, usually the watched copy
    inputs: Sequence[Any]
    number: int
    began: int
    place: OpSite
    watched: WatchedCopy | None
    replayable: Any = None  # its inputs and variables, if it may be replayed
    trains: bool = False  # whether it computes gradients and writes variables


class Observer:
    """Observes a recorder on the program's threads. A hook that it does not implement is never called."""

    needs_recorder = False  # whether to create a recorder in memory if no other exists
    sees_all = False  # whether the recording must not pause while it is attached
    selects_eager = True  # whether its selection also concerns eager ops
    order = 0  # lower ones run earlier; those that may stop the program come last

    def attach(self, recorder: Any) -> None:
        """Call `recorder.attach(self)` to observe this recorder. Do nothing if the recorder is unsuitable."""

    def detach(self) -> None:
        """Stop observing, because another recorder is about to replace this one."""

    def selection(self, base: Selection) -> Selection:
        """Return `base`, widened by the tensors that this observer needs."""
        return base

    def replay_selection(self) -> Selection | None:
        """Return the tensors to record in calls that run again only because of `wants_replay`."""
        return None

    def keeps_steps(self) -> bool:
        """Return whether every call must keep its inputs, so that a user can save it."""
        return False

    def wants_replay(self, call: FunctionCall) -> bool:
        """Return whether to replay a call of a compiled function that went well."""
        return False

    def on_function(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """Handle a function that is about to be called. `find` returns its Python graph."""

    def on_call_end(self, call: FunctionCall, outputs: Sequence[Any], seen: bool) -> Alarm:
        """Handle the return of a function. `seen` says whether probes recorded its inside."""
        return None

    def on_call_failed(self, call: FunctionCall, error: BaseException) -> Alarm:
        """Handle an error that a function raised."""
        return None

    def on_eager_op(self, entry: int, args: tuple[Any, ...], result: Any, place: int) -> None:
        """Handle an eager op, in a step in which layer statistics sample the model."""

    def on_bad_op(self, op: str, inputs: Sequence[Any], call: int, outputs: Sequence[Any]) -> Alarm:
        """Handle an eager op whose output is not finite, or that a break point selects."""
        return None

    def on_write(self, op: str, inputs: Sequence[Any]) -> Alarm:
        """Handle an eager op that is about to write a variable, after some tensor was bad."""
        return None

    def on_op_failed(self, op: str, error: BaseException) -> Alarm:
        """Handle an error that an eager op raised."""
        return None

    def on_loss(self, targets: Any) -> Alarm:
        """Handle the targets of a tape's `gradient`, outside of functions."""
        return None

    def on_gradients(self, sources: Any, gradients: Any) -> Alarm:
        """Handle the gradients that a tape returns, also while a function is traced."""
        return None

    def on_python_value(self, tensor: Any) -> Alarm:
        """Handle an eager tensor that Python reads as numbers."""
        return None

    def on_step(self, this: int, following: int) -> None:
        """Handle the end of a step, -1 if it has not trained, and the beginning of the next."""


class Observers:
    """The observers of one recorder. For each hook, it lists the methods of those that implement it."""

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
        """Add an observer. Adding it twice does nothing."""
        if observer not in self._all:
            self._all = sorted([*self._all, observer], key=lambda one: one.order)
            self._collect()

    def remove(self, observer: Observer) -> None:
        self._all = [one for one in self._all if one is not observer]
        self._collect()

    def _collect(self) -> None:
        """Collect the methods into new tuples, so that a thread that iterates over the old ones is not disturbed."""
        for hook in HOOK_NAMES:
            setattr(self, hook, tuple(getattr(one, hook) for one in self._all if implements(one, hook)))


HOOK_NAMES = tuple(Observers.__annotations__)


def implements(observer: Observer, hook: str) -> bool:
    """Return whether an observer overrides a hook."""
    return getattr(type(observer), hook) is not getattr(Observer, hook)


def first_alarm(hooks: Iterable[Callable[..., Alarm]], *args: Any) -> Alarm:
    """Call the hooks until one wants to stop the program. Return its exception, if any."""
    for hook in hooks:
        alarm = harmless(hook, *args)
        if alarm is not None:
            return alarm
    return None


def tell_all(hooks: Iterable[Callable[..., Alarm]], *args: Any) -> Alarm:
    """Call all hooks. Return the exception of the first that wants to stop the program, if any."""
    alarms = [harmless(hook, *args) for hook in hooks]
    return next((alarm for alarm in alarms if alarm is not None), None)
