"""The debugger or a plain prompt in the program's own terminal, while the program is paused."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tensorsleuth.core.errors import SleuthError

POLL_SECONDS = 0.1
SECONDS_TO_QUIT = 2.0  # the time that the debugger gets to restore the terminal
PROMPT_VARIABLE = "SLEUTH_PAUSE_PROMPT"  # if set, show the prompt instead of the debugger
PROMPT = "(sleuth) "
HELP = """\
where            the tensor, its op and line       source          the lines around it
value [SLICE]    its values; also p, pt            value NAME [SLICE]
eval EXPR        NumPy over x: eval np.abs(x).max()
inputs           the inputs of the op              consumers       the ops that used its output
step             continue to the next step         until COND      continue until a condition holds: until nan > 0
continue         continue the program              stop            raise BreakError in the program
"""
_SHORT = {"p": "value", "pt": "value", "print": "value", "c": "continue", "cont": "continue", "s": "step", "n": "step",
          "w": "where", "l": "source", "list": "source", "u": "until", "q": "stop", "quit": "stop", "h": "help",
          "ni": "inputs", "li": "inputs", "lo": "consumers", "ps": "source", "?": "help"}  # fmt: skip


class Terminal:
    """The controlling terminal, opened for a pause."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._descriptor, text.encode("utf-8", "replace"))

    def line(self, over: Callable[[], bool]) -> str | None:
        """Return the typed line; None if the pause ended meanwhile. The terminal handles the line editing."""
        while not over():
            ready, _, _ = select.select([self._descriptor], [], [], POLL_SECONDS)
            if ready:
                typed = os.read(self._descriptor, 65_536)
                return typed.decode("utf-8", "replace").strip() if typed else "continue"  # Ctrl-D
        return None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


def open_terminal() -> Terminal | None:
    """Return the terminal if stdin and stdout are the same terminal and the program is in its foreground."""
    if not (os.isatty(0) and os.isatty(1)):
        return None
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        if os.tcgetpgrp(descriptor) == os.getpgrp():
            return Terminal(descriptor)
    os.close(descriptor)  # the program is in the background: a read would suspend it
    return None


def open_debugger(place: str, over: Callable[[], bool]) -> None:
    """Run the terminal debugger in its own process until the pause ends or the user quits it."""
    command = [sys.executable, "-m", "tensorsleuth.cli.main", "debug", "--attach", place]
    environment = {name: value for name, value in os.environ.items() if name not in ("SLEUTH_RUN", "SLEUTH_SETTINGS")}
    with open("/dev/tty", "r+b", buffering=0) as tty:
        before = termios.tcgetattr(tty)
        child = subprocess.Popen(command, stdin=tty, stdout=tty, stderr=tty, env=environment)
        try:
            while child.poll() is None and not over():
                time.sleep(POLL_SECONDS)
        finally:
            _end(child)
            with contextlib.suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(tty, termios.TCSADRAIN, before)


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(SECONDS_TO_QUIT)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def run_prompt(screen: Terminal, pauses: Any, over: Callable[[], bool]) -> None:
    """Answer what the user types until the pause is over."""
    from tensorsleuth.live.breakpoints.pause.requests import RequestHandler

    ask = RequestHandler(pauses).answer
    screen.write(f"\n sleuth  paused: {pauses.current.hit}\n help lists the commands.\n")
    while not over():
        screen.write(PROMPT)
        typed = screen.line(over)
        if typed is None:
            screen.write("\n")
            return
        if typed:
            screen.write(answer_command(ask, typed))


def answer_command(ask: Callable[[dict[str, Any]], dict[str, Any]], typed: str) -> str:
    """Return the output of a command."""
    word, _, rest = typed.partition(" ")
    name, rest = _SHORT.get(word, word), rest.strip()
    try:
        if name == "help":
            return HELP
        if name not in _COMMANDS:
            raise SleuthError(f"there is no command {word!r}; help lists the commands.")
        return _COMMANDS[name](ask, rest)
    except (SleuthError, ArithmeticError, ValueError) as error:
        return f"{error}\n"


Ask = Callable[[dict[str, Any]], dict[str, Any]]


def _where(ask: Ask, rest: str) -> str:
    status = ask({"do": "status"})
    place = status["where"]
    line = f"{place['file']}:{place['line']}" if place["file"] else "an unknown line"
    seen = ", ".join(f"{name} {value:.6g}" for name, value in status["seen"].items())
    return (
        f"{place['tensor']} ({place['op']}) {status['dtype']} {status['shape']} · layer {place['layer']}\n"
        f"{line} · step {place['step']} · call {place['call']}\nwhy {status['why']}\nseen {seen}\n"
    )


def _value(ask: Ask, rest: str) -> str:
    name, bracket, part = rest.partition("[")
    found = ask({"do": "value", "name": name.strip() or None, "slice": bracket + part})
    return _value_text(found)


def _value_text(found: dict[str, Any]) -> str:
    cut = " (the first values)" if found["truncated"] else ""
    return f"{found['dtype']} {found['shape']}{cut}\n{json.dumps(found['values'])}\n"


def _eval(ask: Ask, rest: str) -> str:
    return f"{ask({'do': 'eval', 'expression': rest})['text']}\n"


def _source(ask: Ask, rest: str) -> str:
    found = ask({"do": "source"})
    if not found["text"]:
        return "its source is unknown.\n"
    lines, at = found["text"].splitlines(), found["line"]
    shown = range(max(1, at - 5), min(len(lines), at + 5) + 1)
    return "".join(f"{'▶' if number == at else ' '} {number:4} │ {lines[number - 1]}\n" for number in shown)


def _listed(what: str) -> Callable[[Ask, str], str]:
    def listed(ask: Ask, rest: str) -> str:
        rows = ask({"do": what})[what]
        return "".join(f"{_row(row)}\n" for row in rows) or f"no {what} are known.\n"

    return listed


def _row(row: dict[str, Any]) -> str:
    state = "not seen" if row["health"] is None else "BAD" if row["bad"] else "healthy"
    return (
        f"{row['name']} ({row['op']}) {row['dtype'] or ''} {row['shape'] if row['shape'] is not None else ''} {state}"
    )


def _sends(what: str) -> Callable[[Ask, str], str]:
    def told(ask: Ask, rest: str) -> str:
        ask({"do": what, "filter": rest})
        return ""

    return told


_COMMANDS: dict[str, Callable[[Ask, str], str]] = {
    "where": _where,
    "value": _value,
    "eval": _eval,
    "source": _source,
    "inputs": _listed("inputs"),
    "consumers": _listed("consumers"),
    "step": _sends("step"),
    "until": _sends("until"),
    "continue": _sends("continue"),
    "stop": _sends("stop"),
}
