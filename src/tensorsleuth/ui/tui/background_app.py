"""Work in the background: the verdict, a growing trace, the state of a live program."""

from __future__ import annotations

import os
import sys
import termios
import time
from threading import RLock
from typing import Any

from textual.app import App

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.live_run import go_to_pause, is_alive, pause_place, reread_if_grown

HANGUP_EXIT_CODE = 129  # as after SIGHUP
SECONDS_BETWEEN_READS = 1.0  # in seconds, of a trace that may grow
SECONDS_BETWEEN_STATUS = 0.5  # in seconds, of a live program
VERDICT_PAUSE_FACTOR = 5  # a new verdict is made after this many times the duration of the last


class BackgroundApp(App[None]):
    """The background workers of the app. They hold `reading` while they use the debugger's state."""

    debugger: Debugger

    def __init__(self) -> None:
        super().__init__()
        self.debugger_lock = RLock()
        self.diagnosis: Diagnosis | str | None = None
        self.status: dict[str, Any] | None = None
        self._may_grow = True
        self._next_verdict = 0.0
        self._on_terminal = sys.__stdin__ is not None and sys.__stdin__.isatty()

    def start_refreshing(self) -> None:
        self._start_worker_once(self._judge, "verdict")
        self.set_interval(SECONDS_BETWEEN_READS, lambda: self._start_worker_once(self._read_again, "growth"))
        self.set_interval(SECONDS_BETWEEN_READS, self._exit_with_terminal)
        if self.debugger.live is not None:
            self.set_interval(SECONDS_BETWEEN_STATUS, lambda: self._start_worker_once(self._ask_status, "status"))

    def _exit_with_terminal(self) -> None:
        """End together with the terminal: nobody reads any more, and reading from it never waits again."""
        if sys.__stdin__ is not None and self._on_terminal and not is_connected(sys.__stdin__.fileno()):
            os._exit(HANGUP_EXIT_CODE)  # an orderly exit would write to the terminal

    def _start_worker_once(self, work: Any, group: str) -> None:
        """Start a worker unless its group has one: a slow one gets no second request."""
        if not any(worker.group == group and not worker.is_finished for worker in self.workers):
            self.run_worker(work, thread=True, group=group)

    def _judge(self) -> None:
        began = time.monotonic()
        found: Diagnosis | str
        try:
            found = self.debugger.diagnosis
            born = self.debugger.origin() if self.diagnosis is None and found.findings else None
        except Exception as error:  # an error in the verdict must not end the debugger
            found, born = f"{type(error).__name__}: {error}", None
        self._next_verdict = time.monotonic() + VERDICT_PAUSE_FACTOR * (time.monotonic() - began)
        self.call_from_thread(self._show_verdict, found, born)

    def _show_verdict(self, found: Diagnosis | str, born: Any) -> None:
        self.diagnosis = found
        self.show_headline()
        if born is not None and self.untouched:
            self.debugger.preview(born)
            self.show_focus()

    def _read_again(self) -> None:
        if not self._may_grow:
            return
        self._may_grow = is_alive(self.debugger)  # first: the last rows are read once more
        again = reread_if_grown(self.debugger)
        if again is not None:
            with self.debugger_lock:
                self.debugger.reload(again)
            self.call_from_thread(self.show_grown)
            self.call_from_thread(self._judge_again)

    def _judge_again(self) -> None:
        if time.monotonic() >= self._next_verdict or not self._may_grow:
            self._start_worker_once(self._judge, "verdict")

    def _ask_status(self) -> None:
        live = self.debugger.live
        if live is None:
            return
        try:
            status = live.ask("status")
        except SleuthError as error:
            self.debugger.live = self.status = None
            self.call_from_thread(self.say, str(error), True)
        else:
            if self.status is None or _pause_key(status) != _pause_key(self.status):
                with self.debugger_lock:
                    go_to_pause(self.debugger, status)
                self.call_from_thread(self.show_focus)
            self.status = status
        self.call_from_thread(self.show_headline)

    # ---- the app's part

    @property
    def untouched(self) -> bool:
        raise NotImplementedError

    def show_headline(self) -> None:
        raise NotImplementedError

    def show_focus(self, in_list: bool = True) -> None:
        raise NotImplementedError

    def show_grown(self) -> None:
        raise NotImplementedError

    def say(self, text: str, bad: bool = False) -> None:
        raise NotImplementedError


def _pause_key(status: dict[str, Any]) -> tuple[object, ...]:
    """Return a key that identifies a pause."""
    return status.get("state"), status.get("pause"), pause_place(status)


def is_connected(descriptor: int) -> bool:
    """Return whether a terminal is still connected."""
    try:
        termios.tcgetattr(descriptor)
    except termios.error:
        return False
    return True
