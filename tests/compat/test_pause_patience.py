"""How long a paused program waits where nobody comes; the clock is the test's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tensorsleuth.live.breakpoints.pause import pause
from tensorsleuth.live.breakpoints.pause.pause import PauseController

LIMIT = 10.0


class Clock:
    """Time passes where the program waits, a second each time."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def __enter__(self) -> Clock:
        return self

    def __exit__(self, *nothing: object) -> None:
        pass

    def wait(self, seconds: float) -> None:
        self.now += 1


def waited(monkeypatch: pytest.MonkeyPatch, here: Any) -> float:
    """How long, where somebody is there whenever `here` says so."""
    clock = Clock()

    class Server:
        place = "the run"

        @property
        def connected(self) -> bool:
            return bool(here(clock.now))

    monkeypatch.setattr(pause, "time", clock)
    monkeypatch.setattr(pause, "patience", lambda: LIMIT)
    monkeypatch.setattr(pause, "complain", lambda *said, **more: None)
    monkeypatch.setattr("tensorsleuth.live.breakpoints.pause.terminal.open_terminal", lambda: None)
    pauses: Any = PauseController(None)
    pauses._changed, pauses._server = clock, Server()
    pauses._wait(SimpleNamespace(hit="hit", decision=None), lambda: False)
    return clock.now


def test_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waited(monkeypatch, lambda now: False) == LIMIT + 1


def test_who_was_here_long_may_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is loaded anew is away for a moment: that must not let the program go on."""
    assert waited(monkeypatch, lambda now: now <= 100 or 105 <= now <= 200) == pytest.approx(200 + LIMIT, abs=2)
