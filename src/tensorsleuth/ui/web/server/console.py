"""Commands of the terminal debugger, given in the page to a program that is paused."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path

from rich.console import Console as Screen
from rich.style import Style

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import open_trace
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.following import follow
from tensorsleuth.ui.debugger.live_program import LiveProgram, connect
from tensorsleuth.ui.debugger.rendering import answer
from tensorsleuth.ui.debugger.result import Result, say
from tensorsleuth.ui.web.run.errors import Refused
from tensorsleuth.ui.web.run.question import Answer
from tensorsleuth.ui.web.server.pause_state import told

PATIENCE = 1.0  # seconds in which it may pause again before we answer; the page hears of later pauses anyway
NARROWEST, WIDEST = 40, 200  # columns
MOST = 200_000  # letters of an answer
COLOURS = ("red", "green", "cyan", "yellow")


class NobodyThere(Refused):
    """There is no program to talk to."""

    status = 409


class Console:
    """A debugger of one run, kept between commands: it knows which tensor is looked at."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._debugger: Debugger | None = None
        self._pause: object = None
        self._one_at_a_time = threading.Lock()

    def do(self, line: str, columns: int) -> Answer:
        """Return the output of a command, in parts with a style each, and the program's state after it."""
        with self._one_at_a_time, closing(_connected(self._run)) as live:
            debugger = self._debugging(live)
            try:
                said, failed = _asked(debugger, line), None
            except SleuthError as error:
                said, failed = Result(), str(error)
            finally:
                debugger.live = None
            return {"parts": list(_parts(said, columns)), "failed": failed, "pause": _after(live)}

    def _debugging(self, live: LiveProgram) -> Debugger:
        if self._debugger is None:
            self._debugger = Debugger(open_trace(self._run))
        self._debugger.live, self._debugger.patience = live, PATIENCE
        status = live.ask("status")
        if status.get("pause") != self._pause:
            self._pause = status.get("pause")
            follow(self._debugger, status)
        return self._debugger


def _connected(run: Path) -> LiveProgram:
    try:
        return connect(run)
    except SleuthError as error:
        raise NobodyThere(
            f"No program of {run.name} can be talked to.", "It ended, or has no break point that pauses."
        ) from error


def _asked(debugger: Debugger, line: str) -> Result:
    if not line.strip():
        raise SleuthError("there is no command. See: help")
    result = debugger.do(line)
    return say("To leave, close the page: the program stays paused.") if result.quit else result


def _after(live: LiveProgram) -> Answer | None:
    try:
        return told(live.ask("status"))
    except SleuthError:  # it went on to its end
        return None


def _parts(result: Result, columns: int) -> Iterator[Answer]:
    """As a terminal of that width shows it."""
    width = min(max(columns, NARROWEST), WIDEST)
    screen = Screen(width=width, file=io.StringIO(), force_terminal=True, color_system="standard", legacy_windows=False)
    segments = screen.render(answer(result)) if result.blocks else ()
    left = MOST
    for style, alike in groupby((one for one in segments if not one.control), lambda one: _style(one.style)):
        text = "".join(one.text for one in alike)
        yield {"text": text[:left], "style": style}
        left -= len(text)
        if left <= 0:
            yield {"text": "… cut short: take a part, pt NAME[0:10]", "style": "dim"}
            return


def _style(style: Style | None) -> str:
    """In the page's own words: bold, dim, a colour."""
    if style is None:
        return ""
    colour = style.color.name if style.color is not None else ""
    words = ("bold" if style.bold else "", "dim" if style.dim else "", colour if colour in COLOURS else "")
    return " ".join(filter(None, words))
