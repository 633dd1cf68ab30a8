"""Pauses the program in the middle of a step: the thread that computed a tensor waits, and so do its consumers."""

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

POLL_SECONDS = 0.1  # the interval at which a pause checks for signals and debuggers
DEFAULT_PAUSE_SECONDS = 3600.0  # how long a program without a terminal waits for a debugger
CONTINUE, STOP = "continue", "stop"
_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


@dataclass
class Pause:
    """A pause in progress."""

    hit: Hit
    sight: TensorInMemory
    recorder: Recorder
    number: int
    decision: str | None = None

    @property
    def value(self) -> Array | None:
        return self.hit.value if self.hit.value is not None else self.sight.read()


class PauseController:
    """Allows one pause at a time. Other threads that reach a break point queue up."""

    def __init__(self, breaks: Any) -> None:
        self._breaks = breaks
        self._line = threading.Lock()
        self._changed = threading.Condition(threading.RLock())
        self.current: Pause | None = None
        self._count = 0
        self._closed = False
        self._interrupted = False  # a signal arrived: do not pause again before Python has handled it
        self._answered = _PENDING(self._signal_was_answered)
        self._server: PauseServer | None = None

    # ---- letting debuggers connect

    def expect(self) -> None:
        """Start the server, so that debuggers can find this process before the first pause."""
        if self._server is None:
            from tensorsleuth.live.breakpoints.pause.requests import RequestHandler

            self._server = PauseServer(RequestHandler(self).answer)

    def joined(self, recorder: Recorder) -> None:
        folder = recorder.folder if isinstance(recorder.folder, Path) else None
        if self._server is not None:
            harmless(self._server.announce, folder)

    def close(self) -> None:
        """End the current pause and the server when the program ends."""
        self._closed = True
        with self._changed:
            if self.current is not None:
                self.decide(CONTINUE)
        if self._server is not None:
            self._server.close()

    # ---- on the thread that computed the tensor

    def at(self, hit: Hit, tensor_in_memory: TensorInMemory) -> Alarm:
        """Wait until a debugger says how to go on."""
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
                with self._changed:  # wait for a running request: it reads the tensor's memory
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
                )  # counts from when the last debugger disconnects, so that a page may reload

    def _talk(self, screen: terminal.Terminal, over: Callable[[], bool]) -> None:
        """Open the debugger. Show the prompt if the user left the debugger undecided, or it has no run to show."""
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
            self._interrupted = True  # Python handles the signal after the step, as it does without us
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
        """Allow pauses again. Runs on the main thread, once it is back in Python."""
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
        """Hold the pause while a request is answered."""
        return self._changed

    def decide(self, decision: str) -> None:
        with self._changed:
            if self.current is None:
                raise SleuthError("the program is running.")
            self.current.decision = decision
            self._changed.notify_all()

    def until(self, condition: str) -> None:
        """Continue, and pause again when a condition holds for any recorded tensor."""
        point = make_breakpoint(condition, None, "pause", 1)
        self._go_on_until(point)

    def next_step(self) -> None:
        """Continue to the next training step."""
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
    """Return how many seconds to wait for a debugger without a terminal; 0 means forever."""
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
    """Mark the run as paused, so that nobody takes the waiting program for one that hangs."""
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
    """Catch signals that Python would handle only when its main thread returns from TensorFlow."""
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
