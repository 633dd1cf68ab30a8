"""The pause of a run's program. The program itself answers, as in `sleuth debug --attach`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.debugger.live_program import LiveProgram, ProgramGone, announced_count, connect
from tensorsleuth.ui.debugger.live_run import pause_place
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer

SECONDS_TO_ANSWER = 1.0  # a paused program has nothing else to do
MAX_TEXT_LENGTH = 500  # letters of a text
MAX_ITEMS = 16  # dimensions, and observed values
NO_PROGRAM: Answer = {
    "state": "none",
    "pause": None,
    "why": None,
    "name": None,
    "op": None,
    "layer": None,
    "file": None,
    "line": None,
    "step": None,
    "iteration": None,
    "dtype": None,
    "shape": None,
    "seen": [],
    "tensor": None,
}


def state_now(run: Path) -> Answer:
    """Ask the program once, and return its state."""
    try:
        with closing(connect(run, SECONDS_TO_ANSWER)) as line:
            return pause_json(line.ask("status"))
    except SleuthError:
        return NO_PROGRAM


class PauseWatcher:
    """Polls the program for one listener. The open connection tells the program that somebody is there."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._line: LiveProgram | None = None
        self.last_state = NO_PROGRAM

    def poll(self) -> Answer:
        """Return the state: none (no program), running, paused, or gone (it was paused, and has ended)."""
        try:
            self._line = self._line or connect(self._run, SECONDS_TO_ANSWER)
        except SleuthError:
            self.last_state = self._ended()
            return self.last_state
        try:
            self.last_state = pause_json(self._line.ask("status"))
        except ProgramGone:
            self.close()
            self.last_state = self._ended()
        except SleuthError:  # the program is answering somebody else: the last state holds
            self.close()
        if self.last_state["state"] != "paused" and announced_count(self._run) > 1:
            self.close()  # another process of the run may pause
        return self.last_state

    def _ended(self) -> Answer:
        """Return the state after the end: a program withdraws its address at its end, a killed one cannot."""
        was_paused = self.last_state["state"] in ("paused", "gone")
        return {**self.last_state, "state": "gone"} if was_paused and announced_count(self._run) else NO_PROGRAM

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None


def pause_json(status: dict[str, Any]) -> Answer:
    """Return the program's answer, without invalid parts."""
    if status.get("state") != "paused":
        return {**NO_PROGRAM, "state": "running"}
    place, seen, shape = pause_place(status), status.get("seen"), status.get("shape")
    texts = {key: _text(place.get(key)) for key in ("op", "layer", "file")}
    numbers = {key: _number(place.get(key)) for key in ("line", "step", "iteration")}
    found = (
        [
            {"name": str(name)[:MAX_TEXT_LENGTH], "value": _shown(value)}
            for name, value in list(seen.items())[:MAX_ITEMS]
        ]
        if isinstance(seen, dict)
        else []
    )
    return {
        **NO_PROGRAM,
        "state": "paused",
        "pause": _number(status.get("pause")),
        "why": _text(status.get("why")),
        "name": _text(place.get("tensor")) or _text(place.get("name")),
        **texts,
        **numbers,
        "dtype": _text(status.get("dtype")),
        "shape": [_number(size) for size in shape[:MAX_ITEMS]] if isinstance(shape, list) else None,
        "seen": found,
    }


def _text(given: object) -> str | None:
    return given[:MAX_TEXT_LENGTH] if isinstance(given, str) else None


def _number(given: object) -> int | None:
    return given if isinstance(given, int) and abs(given) < 1 << 53 else None


def _shown(given: object) -> str:
    return f"{given:.6g}" if isinstance(given, float | int) else str(given)[:MAX_TEXT_LENGTH]


def find_paused_tensor(opened: OpenRun, pause: Answer) -> str | None:
    """Return the id of the tensor at which it is paused, if the loaded run has it."""
    if pause["state"] != "paused" or not pause["name"]:
        return None
    key = opened.cursor, pause["pause"], pause["name"]
    return opened.cache("paused", key, lambda: _find(opened, pause))


def _find(opened: OpenRun, pause: Answer) -> str | None:
    table = opened.table
    name, _, output = pause["name"].rpartition(":")
    ops = {number: op for number, op in enumerate(table.ops) if op.name == name and op.type == pause["op"]}
    if pause["step"] is None or not output.isdecimal():
        return None
    for place in np.flatnonzero(np.isin(table.op, list(ops)) & (table.step == pause["step"]))[::-1]:
        op = ops[int(table.op[place])]
        if int(table.row(int(place))["tensor"]) - op.first_tensor == int(output):
            return table.id(int(place))
    return None
