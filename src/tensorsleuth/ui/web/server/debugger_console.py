"""Commands of the terminal debugger that the page sends to a paused program."""

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
from tensorsleuth.ui.debugger.live_program import LiveProgram, connect
from tensorsleuth.ui.debugger.live_run import go_to_pause
from tensorsleuth.ui.debugger.rendering import render_result
from tensorsleuth.ui.debugger.result import CommandResult, message_result
from tensorsleuth.ui.web.run.errors import RequestError
from tensorsleuth.ui.web.run.question import Answer
from tensorsleuth.ui.web.server.pause_state import pause_json

SECONDS_TO_PAUSE = 1.0  # a pause within this time is in the answer; the page gets later ones as events
MIN_COLUMNS, MAX_COLUMNS = 40, 200  # of the answer
MAX_OUTPUT_LETTERS = 200_000  # of an answer
COLOURS = ("red", "green", "cyan", "yellow")


class NoLiveProgram(RequestError):
    """No live program answers."""

    status = 409


class DebuggerConsole:
    """A debugger of one run, kept between commands: it knows the selected tensor."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._debugger: Debugger | None = None
        self._pause: object = None
        self._one_at_a_time = threading.Lock()

    def run_line(self, line: str, columns: int) -> Answer:
        """Return the output of a command, in parts with a style each, and the program's state after it."""
        with self._one_at_a_time, closing(_connected(self._run)) as live:
            debugger = self._debugging(live)
            try:
                said, failed = _run_line(debugger, line), None
            except SleuthError as error:
                said, failed = CommandResult(), str(error)
            finally:
                debugger.live = None
            return {"parts": list(_parts(said, columns)), "failed": failed, "pause": _pause_after(live)}

    def _debugging(self, live: LiveProgram) -> Debugger:
        if self._debugger is None:
            self._debugger = Debugger(open_trace(self._run))
        self._debugger.live, self._debugger.seconds_to_pause = live, SECONDS_TO_PAUSE
        status = live.ask("status")
        if status.get("pause") != self._pause:
            self._pause = status.get("pause")
            go_to_pause(self._debugger, status)
        return self._debugger


def _connected(run: Path) -> LiveProgram:
    try:
        return connect(run)
    except SleuthError as error:
        raise NoLiveProgram(
            f"No program of {run.name} answers.", "It ended, or has no break point that pauses."
        ) from error


def _run_line(debugger: Debugger, line: str) -> CommandResult:
    if not line.strip():
        raise SleuthError("the line has no command. See: help")
    result = debugger.run_line(line)
    return message_result("To leave, close the page: the program stays paused.") if result.quit else result


def _pause_after(live: LiveProgram) -> Answer | None:
    try:
        return pause_json(live.ask("status"))
    except SleuthError:  # the program has ended
        return None


def _parts(command_result: CommandResult, columns: int) -> Iterator[Answer]:
    """Return the result as a terminal of that width shows it."""
    width = min(max(columns, MIN_COLUMNS), MAX_COLUMNS)
    screen = Screen(width=width, file=io.StringIO(), force_terminal=True, color_system="standard", legacy_windows=False)
    segments = screen.render(render_result(command_result)) if command_result.blocks else ()
    left = MAX_OUTPUT_LETTERS
    for style, alike in groupby((one for one in segments if not one.control), lambda one: _style(one.style)):
        text = "".join(one.text for one in alike)
        yield {"text": text[:left], "style": style}
        left -= len(text)
        if left <= 0:
            yield {"text": "… cut short: take a part, pt NAME[0:10]", "style": "dim"}
            return


def _style(style: Style | None) -> str:
    """Return the style in the page's own words: bold, dim, a colour."""
    if style is None:
        return ""
    colour = style.color.name if style.color is not None else ""
    words = ("bold" if style.bold else "", "dim" if style.dim else "", colour if colour in COLOURS else "")
    return " ".join(filter(None, words))
