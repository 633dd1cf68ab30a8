"""Pauses the program in the middle of a step: who computed a tensor waits, and all that needs it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.breakpoints.actions import stop_error
from tensorsleuth.live.breakpoints.breakpoint import Breakpoint, make_breakpoint
from tensorsleuth.live.breakpoints.hit import Hit
from tensorsleuth.live.breakpoints.pause import terminal
from tensorsleuth.live.breakpoints.pause.server import PauseServer
from tensorsleuth.live.breakpoints.tensor_in_memory import TensorInMemory
from tensorsleuth.native import loader
from tensorsleuth.recording.harmless import complain, harmless
from tensorsleuth.recording.observer import Alarm
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.trace.storage.run_folder import PAUSED_FILE

POLL_SECONDS = 0.1  # seconds between looks at the world
DEFAULT_PAUSE_SECONDS = 3600.0  # seconds to wait for somebody where there is no terminal
CONTINUE, STOP = "continue", "stop"
_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


@dataclass
class Pause:
    """The pause that is under way."""

    hit: Hit
    sight: TensorInMemory
    recorder: Recorder
    number: int
    decision: str | None = None

    @property
    def value(self) -> Array | None:
        return self.hit.value if self.hit.value is not None else self.sight.read()


class PauseController:
    """One pause at a time; other threads that come to one wait in line."""

    def __init__(self, breaks: Any) -> None:
        self._breaks = breaks
        self._line = threading.Lock()
        self._changed = threading.Condition(threading.RLock())
        self.current: Pause | None = None
        self._count = 0
        self._closed = False
        self._interrupted = False  # a signal came: there is no pause before Python has answered it
        self._answered = _PENDING(self._signal_was_answered)
        self._server: PauseServer | None = None

    # ---- who may ask

    def expect(self) -> None:
        """There will be pauses: let debuggers find us."""
        if self._server is None:
            from tensorsleuth.live.breakpoints.pause.requests import RequestHandler

            self._server = PauseServer(RequestHandler(self).answer)

    def joined(self, recorder: Recorder) -> None:
        folder = recorder.folder if isinstance(recorder.folder, Path) else None
        if self._server is not None:
            harmless(self._server.announce, folder)

    def close(self) -> None:
        """The program ends."""
        self._closed = True
        with self._changed:
            if self.current is not None:
                self.decide(CONTINUE)
        if self._server is not None:
            self._server.close()

    # ---- on the thread that computed

    def at(self, hit: Hit, tensor_in_memory: TensorInMemory) -> Alarm:
        """Wait here until somebody says how to go on."""
        with self._line:
            if self._interrupted or self._closed:
                return None
            recorder = self._breaks.recorder
            self._count += 1
            pause = Pause(hit, tensor_in_memory, recorder, self._count)
            with self._changed:
                self.current = pause
            try:
                with _listening() as signals, _known_to_pause(recorder.folder):
                    self._wait(pause, signals)
            finally:
                with self._changed:  # an answer that is being made is waited for: it reads the tensor's memory
                    self.current = None
        return stop_error(hit) if pause.decision == STOP else None

    def _wait(self, pause: Pause, signals: Any) -> None:
        screen = terminal.open_terminal()
        if screen is not None:
            with screen:
                self._talk(screen, lambda: self._is_over(pause, signals, None))
            return
        limit = patience()
        self._say(pause.hit, limit)
        deadline = time.monotonic() + limit if limit else None
        while not self._is_over(pause, signals, deadline):
            with self._changed:
                self._changed.wait(POLL_SECONDS)
            if limit and self._watched:
                deadline = (
                    time.monotonic() + limit
                )  # from when the last one leaves: a page that is loaded again is back at once

    def _talk(self, screen: terminal.Terminal, over: Callable[[], bool]) -> None:
        """The debugger's screen, and when the user has left it without a word, or it has no run to show, a prompt."""
        place = self._server.place if self._server is not None else None
        records = self.current is not None and isinstance(self.current.recorder.folder, Path)
        if place is not None and records and not os.environ.get(terminal.PROMPT_VARIABLE):
            harmless(terminal.open_debugger, str(place), over)
        if not over():
            terminal.run_prompt(screen, self, over)

    def _is_over(self, pause: Pause, signals: Any, deadline: float | None) -> bool:
        if pause.decision is not None:
            return True
        if signals():
            self._interrupted = True  # Python answers when the step is over, as it always does
            ctypes.pythonapi.Py_AddPendingCall(self._answered, None)
            return True
        if deadline is not None and not self._watched and time.monotonic() > deadline:
            complain("no debugger attached in time; the program goes on (SLEUTH_PAUSE_TIMEOUT).")
            return True
        return False

    @property
    def _watched(self) -> bool:
        return self._server is not None and self._server.connected

    def _signal_was_answered(self, nothing: Any) -> int:
        """On the main thread, when that is back in Python."""
        self._interrupted = False
        return 0

    def _say(self, hit: Hit, limit: float) -> None:
        where = self._server.place if self._server is not None else None
        ways = [f"sleuth debug --attach {where}   to look around and go on"]
        if self.current is not None and isinstance(self.current.recorder.folder, Path):
            ways.append(f"sleuth view {where}   the same in a browser")
        waits = f"\n   It goes on by itself in {limit:g} s." if limit else ""
        complain("\n   ".join([f"paused: {hit}", *ways]) + waits, again=True)

    # ---- on any thread

    def asking(self) -> contextlib.AbstractContextManager[Any]:
        """While an answer is made the program cannot go on."""
        return self._changed

    def decide(self, decision: str) -> None:
        with self._changed:
            if self.current is None:
                raise SleuthError("the program is running.")
            self.current.decision = decision
            self._changed.notify_all()

    def until(self, condition: str) -> None:
        """Go on, and pause again where a condition holds of any tensor that is looked at."""
        point = make_breakpoint(condition, None, "pause", 1)
        self._go_on_until(point)

    def next_step(self) -> None:
        """Go on to the next training step."""
        with self._changed:
            if self.current is None:
                raise SleuthError("the program is running.")
            self._go_on_until(make_breakpoint(f"step > {self.current.hit.step}", None, "pause", 1))

    def _go_on_until(self, point: Breakpoint) -> None:
        with self._changed:
            if self.current is None:
                raise SleuthError("the program is running.")
            self._breaks.until(point)
            self.decide(CONTINUE)


def patience() -> float:
    """Return the seconds to wait for somebody if there is no terminal; 0 is for ever."""
    text = os.environ.get("SLEUTH_PAUSE_TIMEOUT", "")
    try:
        return max(0.0, float(text)) if text else DEFAULT_PAUSE_SECONDS
    except ValueError:
        complain(
            f"SLEUTH_PAUSE_TIMEOUT is {text!r}; it must be a number of seconds. Waiting {DEFAULT_PAUSE_SECONDS:g} s."
        )
        return DEFAULT_PAUSE_SECONDS


@contextlib.contextmanager
def _known_to_pause(folder: Any) -> Iterator[None]:
    """Leave word that somebody is asked: a program that waits for an answer does not hang."""
    mark = folder / PAUSED_FILE if isinstance(folder, Path) else None
    try:
        if mark is not None:
            harmless(mark.touch)
        yield
    finally:
        if mark is not None:
            harmless(mark.unlink, missing_ok=True)


@contextlib.contextmanager
def _listening() -> Iterator[Any]:
    """Hear of signals that Python would answer only when its main thread comes back from TensorFlow."""
    native = loader.load()
    if native is None:
        yield lambda: False
        return
    before = native.signals_arrived()
    native.listen_to_signals(1)
    try:
        yield lambda: native.signals_arrived() != before
    finally:
        native.listen_to_signals(0)
