"""Actions on elements of a pipeline that break the schema, and the record of them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.pipeline.errors import element_error
from tensorsleuth.data.pipeline.set_aside import SetAsideFile
from tensorsleuth.recording.calling_line import calling_line
from tensorsleuth.recording.violations.actions import handle_violation
from tensorsleuth.recording.violations.pending_errors import numbered_message

ACTIONS = ("raise", "warn", "record", "skip", "set_aside")
MAX_KEPT_CONTENTS = 5  # elements with kept content
MAX_KEPT_BYTES = 1 << 26
MAX_LISTED_ELEMENTS = 100  # elements with kept violations


@dataclass(frozen=True)
class BadElement:
    """An element that broke the schema: its number, the violations, and the content of the first few."""

    index: int
    violations: tuple[Violation, ...]
    content: dict[str, Array] | None


class ViolationHandler:
    """Handles violations for all threads of a pipeline."""

    def __init__(self, on_violation: str, aside: Any) -> None:
        if on_violation not in ACTIONS:
            raise SleuthError(f"on_violation={on_violation!r}: choose one of {', '.join(ACTIONS)}.")
        if (on_violation == "set_aside") != (aside is not None):
            raise SleuthError('on_violation="set_aside" needs a file, and only that: aside="bad.npz".')
        self.action = on_violation
        self.count = 0
        self.elements: list[BadElement] = []
        self.aside = SetAsideFile(Path(aside)) if aside is not None else None
        self.place = calling_line()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def drops(self) -> bool:
        return self.action in ("skip", "set_aside")

    def note(self, index: int, element: Mapping[str, Array], found: Sequence[Violation]) -> str | None:
        """Keep a violation and write it to the trace; return the error message if the action is to raise."""
        at = self.place
        found = [replace(one, file=at.file, line=at.line, code=at.code, function=at.function) for one in found]
        with self._lock:
            self.count += 1
            self._keep(index, element, found)
            if self.aside is not None:
                self.aside.add(index, element, found)
        for violation in found:
            handle_violation(violation, "warn" if self.action == "warn" else "record")
        return _failure_message(found) if self.action == "raise" else None

    def _keep(self, index: int, element: Mapping[str, Array], found: Sequence[Violation]) -> None:
        if len(self.elements) >= MAX_LISTED_ELEMENTS:
            return
        size = sum(array.nbytes for array in element.values())
        room = len(self.elements) < MAX_KEPT_CONTENTS and self._bytes + size <= MAX_KEPT_BYTES
        self._bytes += size if room else 0
        content = {name: array.copy() for name, array in element.items()} if room else None
        self.elements.append(BadElement(index, tuple(found), content))


def _failure_message(found: Sequence[Violation]) -> str:
    error = element_error(found)
    return numbered_message(error, str(error))
