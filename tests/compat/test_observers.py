"""Observers are told of what they implement, in an order, and of nothing else; lazy parts are made once."""

from __future__ import annotations

import threading
from typing import Any

from tensorsleuth.recording.lazy import Lazy
from tensorsleuth.recording.observer import HOOK_NAMES, Alarm, Observer, Observers, first_alarm, tell_all


class Watching(Observer):
    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []
        self.gradients = 0

    def on_step(self, this: int, following: int) -> None:
        self.steps.append((this, following))

    def on_gradients(self, sources: Any, gradients: Any) -> Alarm:
        self.gradients += 1
        return None


class Stopping(Observer):
    order = 1

    def on_gradients(self, sources: Any, gradients: Any) -> Alarm:
        return KeyboardInterrupt()


class Failing(Observer):
    def on_gradients(self, sources: Any, gradients: Any) -> Alarm:
        raise ValueError("a mistake of ours")


def test_a_hook_that_nobody_implements_has_nobody_to_call() -> None:
    observers = Observers()
    assert not [hook for hook in HOOK_NAMES if getattr(observers, hook)]
    observers.add(Watching())
    assert [hook for hook in HOOK_NAMES if getattr(observers, hook)] == ["on_gradients", "on_step"]


def test_every_hook_of_the_protocol_is_collected() -> None:
    assert {name for name in vars(Observer) if name.startswith("on_")} == set(HOOK_NAMES) - {"wants_replay"}


def test_who_may_stop_the_program_is_told_last() -> None:
    observers, watching = Observers(), Watching()
    for observer in (Stopping(), watching, watching):
        observers.add(observer)
    assert [type(observer) for observer in observers] == [Watching, Stopping]
    assert isinstance(first_alarm(observers.on_gradients, None, None), KeyboardInterrupt)
    assert watching.gradients == 1


def test_an_observer_that_fails_harms_nobody(capfd: Any) -> None:
    observers, watching = Observers(), Watching()
    for observer in (Failing(), watching):
        observers.add(observer)
    assert tell_all(observers.on_gradients, None, None) is None
    assert watching.gradients == 1
    assert "a mistake of ours" in capfd.readouterr().err


def test_an_observer_may_leave_while_others_are_told() -> None:
    observers, watching = Observers(), Watching()
    observers.add(watching)
    for told in observers.on_step:
        observers.remove(watching)
        told(0, 1)
    assert watching.steps == [(0, 1)] and not observers.on_step


def test_a_lazy_part_is_made_once() -> None:
    made = list[object]()

    def make() -> object:
        made.append(object())
        return made[-1]

    lazy = Lazy(make)
    assert not made
    threads = [threading.Thread(target=lazy) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [lazy()] == [lazy.value]
