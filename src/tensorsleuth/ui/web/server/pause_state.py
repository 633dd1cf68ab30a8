"""The pause of a run's program, asked of the program itself, as `sleuth debug --attach` does."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.debugger.following import place_of
from tensorsleuth.ui.debugger.live_program import Gone, LiveProgram, announced, connect
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer

PATIENCE = 1.0  # seconds for an answer: a program that is paused has nothing else to do
LONGEST = 500  # letters of a text
MOST = 16  # of dimensions, and of what was seen
NOTHING: Answer = {"state": "none", "pause": None, "why": None, "name": None, "op": None, "layer": None, "file": None,
                   "line": None, "step": None, "iteration": None, "dtype": None, "shape": None, "seen": [],
                   "tensor": None}  # fmt: skip


def state_now(run: Path) -> Answer:
    """Return the program's state, asked once."""
    try:
        with closing(connect(run, PATIENCE)) as line:
            return told(line.ask("status"))
    except SleuthError:
        return NOTHING


class Watching:
    """Looks again and again, for one listener. The line stays open: so the program knows that somebody is there."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._line: LiveProgram | None = None
        self.said = NOTHING

    def look(self) -> Answer:
        """Return the state: none (no program), running, paused, or gone (it was paused, and has ended)."""
        try:
            self._line = self._line or connect(self._run, PATIENCE)
        except SleuthError:
            self.said = self._ended()
            return self.said
        try:
            self.said = told(self._line.ask("status"))
        except Gone:
            self.close()
            self.said = self._ended()
        except SleuthError:  # it is busy with an answer for somebody else: what was said holds
            self.close()
        if self.said["state"] != "paused" and announced(self._run) > 1:
            self.close()  # another of its processes may pause
        return self.said

    def _ended(self) -> Answer:
        """A program that ends takes its address back; who is killed cannot."""
        was_paused = self.said["state"] in ("paused", "gone")
        return {**self.said, "state": "gone"} if was_paused and announced(self._run) else NOTHING

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None


def told(status: dict[str, Any]) -> Answer:
    """Return the program's answer, without what makes no sense."""
    if status.get("state") != "paused":
        return {**NOTHING, "state": "running"}
    place, seen, shape = place_of(status), status.get("seen"), status.get("shape")
    texts = {key: _text(place.get(key)) for key in ("op", "layer", "file")}
    numbers = {key: _number(place.get(key)) for key in ("line", "step", "iteration")}
    found = (
        [{"name": str(name)[:LONGEST], "value": _shown(value)} for name, value in list(seen.items())[:MOST]]
        if isinstance(seen, dict)
        else []
    )
    return {
        **NOTHING,
        "state": "paused",
        "pause": _number(status.get("pause")),
        "why": _text(status.get("why")),
        "name": _text(place.get("tensor")) or _text(place.get("name")),
        **texts,
        **numbers,
        "dtype": _text(status.get("dtype")),
        "shape": [_number(size) for size in shape[:MOST]] if isinstance(shape, list) else None,
        "seen": found,
    }


def _text(given: object) -> str | None:
    return given[:LONGEST] if isinstance(given, str) else None


def _number(given: object) -> int | None:
    return given if isinstance(given, int) and abs(given) < 1 << 53 else None


def _shown(given: object) -> str:
    return f"{given:.6g}" if isinstance(given, float | int) else str(given)[:LONGEST]


def tensor_of(opened: OpenRun, pause: Answer) -> str | None:
    """The id of the tensor that it is paused at, where the run that was read has it already."""
    if pause["state"] != "paused" or not pause["name"]:
        return None
    key = opened.cursor, pause["pause"], pause["name"]
    return opened.keep("paused", key, lambda: _find(opened, pause))


def _find(opened: OpenRun, pause: Answer) -> str | None:
    table = opened.table
    name, _, output = pause["name"].rpartition(":")
    ops = {number: op for number, op in enumerate(table.ops) if op.name == name and op.type == pause["op"]}
    if pause["step"] is None or not output.isdecimal():
        return None
    for place in np.flatnonzero(np.isin(table.op, list(ops)) & (table.step == pause["step"]))[::-1]:
        op = ops[int(table.op[place])]
        if int(table.row(int(place))["tensor"]) - op.first == int(output):
            return table.id(int(place))
    return None
