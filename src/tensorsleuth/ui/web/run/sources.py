"""The recorded files of a run, by number. A request never contains a path."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

from tensorsleuth.trace.reader import Trace
from tensorsleuth.ui.web.run.errors import BadRequest, NotFound


class SourceFiles:
    """The program's files as they were during the run."""

    def __init__(self, trace: Trace) -> None:
        self._texts = {path: text for one in trace.processes for path, text in one.catalogue.sources.items()}
        self.paths = list(self._texts)
        self._numbers = {path: number for number, path in enumerate(self.paths)}
        self._lines: dict[str, list[str]] = {}

    def text(self, number: str) -> tuple[int, str]:
        """Return the text of a file, by the number in a request."""
        if not number.isascii() or not number.isdecimal() or len(number) > 9:
            raise BadRequest(f"{number[:40]!r} is not the number of a file.", "See `files` of the run.")
        if int(number) >= len(self.paths):
            raise NotFound(
                f"The run kept {len(self.paths)} files; there is no file {number}.", "See `files` of the run."
            )
        return int(number), self._texts[self.paths[int(number)]]

    def lines(self, path: str) -> list[str]:
        if path not in self._lines:
            self._lines[path] = lines_of(self._texts.get(path, ""))
        return self._lines[path]

    def place(self, path: str | None, line: int | None, function: str | None) -> dict[str, Any] | None:
        """Return a line of a recorded file, or None if the file was not recorded."""
        if path not in self._numbers or line is None:
            return None
        place = {"file": self._numbers[path], "path": path, "line": line}
        return place | {"function": function or "", "code": self.code(path, line).strip() or None}

    def code(self, path: str | None, line: int | None) -> str:
        """Return the text of a line, empty if unknown."""
        lines = self.lines(path) if path is not None else []
        return lines[line - 1] if line is not None and 0 < line <= len(lines) else ""

    def describe(self, number: int) -> dict[str, Any]:
        path = self.paths[number]
        said = {"number": number, "path": path, "name": self._short_names[number]}
        return said | {"lines": len(self.lines(path)), "user": True}

    @cached_property
    def _short_names(self) -> list[str]:
        """Return each path, shortened as far as it stays unique."""
        parts = [path.split("/") for path in self.paths]
        return ["/".join(one[-_unique_length(one, parts) :]) for one in parts]


def lines_of(text: str) -> list[str]:
    """Return the lines as Python counts them: only a newline ends one."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _unique_length(one: list[str], others: list[list[str]]) -> int:
    """Return the number of trailing parts that make a path unique."""
    for count in range(1, len(one) + 1):
        if Counter(tuple(other[-count:]) for other in others)[tuple(one[-count:])] == 1:
            return count
    return len(one)
