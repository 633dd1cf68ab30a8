"""Who else wants to know what the program does, at once, and may stop it: the guard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tensorsleuth.recording.eager.op_sites import Place
from tensorsleuth.recording.functions.watched_functions import Watched

Alarm = BaseException | None  # what to raise in the program
STOPPED = "tensorsleuth: a value that is not finite"  # how a probe fails where the guard is strict; see probe.cc


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function that is being called."""

    name: str
    ran: str  # the name of what runs for it
    inputs: Sequence[Any]
    number: int
    began: int
    place: Place
    watched: Watched | None
    flight: Any = None  # what it began with, where it may be run again
    trains: bool = False  # does it compute gradients and write variables


class Watcher(Protocol):
    """Is told of what matters, on the thread on which it happens."""

    def made_bad(self, op: str, inputs: Sequence[Any], call: int, outputs: Sequence[Any]) -> Alarm:
        """An eager op has made something that is not finite."""

    def writes(self, op: str, inputs: Sequence[Any]) -> Alarm:
        """An eager op is about to write a variable, and something was bad before."""

    def function_ended(self, call: FunctionCall, outputs: Sequence[Any], seen: bool) -> Alarm:
        """A function came back; `seen` where its inside was looked at."""

    def function_failed(self, call: FunctionCall, stopped: bool) -> Alarm:
        """A function raised; `stopped` where a probe made it."""

    def op_failed(self, op: str) -> Alarm:
        """An eager op raised because a probe in a function that it runs did."""

    def differentiates(self, targets: Any) -> Alarm:
        """A tape is asked for gradients of these."""

    def becomes_python(self, tensor: Any) -> Alarm:
        """A tensor is turned into numbers of Python."""


class Breaks(Protocol):
    """The conditions on tensors that stop the program where they hold."""

    def alarm_in(self, message: str) -> Alarm:
        """What to raise for an error with which a probe stopped what ran; None where it is another error."""

    def alarm_here(self) -> Alarm:
        """What to raise for a tensor that this thread has just looked at."""
