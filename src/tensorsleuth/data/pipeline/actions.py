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
from tensorsleuth.data.pipeline.set_aside import Aside
from tensorsleuth.recording.caller import calling_place
from tensorsleuth.recording.violations.actions import act
from tensorsleuth.recording.violations.pending_errors import marked

ACTIONS = ("raise", "warn", "record", "skip", "set_aside")
KEPT = 5  # elements whose content is kept
KEPT_BYTES = 1 << 26
LISTED = 100  # elements whose violations are kept


@dataclass(frozen=True)
class BadElement:
    """An element that broke the schema: its number in the pipeline, why, and what was in it (of the first few)."""

    index: int
    violations: tuple[Violation, ...]
    content: dict[str, Array] | None


class Verdicts:
    """Kept by all threads of a pipeline."""

    def __init__(self, on_violation: str, aside: Any) -> None:
        if on_violation not in ACTIONS:
            raise SleuthError(f"on_violation={on_violation!r}: choose one of {', '.join(ACTIONS)}.")
        if (on_violation == "set_aside") != (aside is not None):
            raise SleuthError('on_violation="set_aside" needs a file, and only that: aside="bad.npz".')
        self.action = on_violation
        self.count = 0
        self.elements: list[BadElement] = []
        self.aside = Aside(Path(aside)) if aside is not None else None
        self.place = calling_place()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def drops(self) -> bool:
        return self.action in ("skip", "set_aside")

    def note(self, index: int, element: Mapping[str, Array], found: Sequence[Violation]) -> str | None:
        """Keep what is to be kept, put it into the trace; the text to fail with, where that is asked for."""
        at = self.place
        found = [replace(one, file=at.file, line=at.line, code=at.code, function=at.function) for one in found]
        with self._lock:
            self.count += 1
            self._keep(index, element, found)
            if self.aside is not None:
                self.aside.add(index, element, found)
        for violation in found:
            act(violation, "warn" if self.action == "warn" else "record")
        return _to_fail_with(found) if self.action == "raise" else None

    def _keep(self, index: int, element: Mapping[str, Array], found: Sequence[Violation]) -> None:
        if len(self.elements) >= LISTED:
            return
        size = sum(array.nbytes for array in element.values())
        room = len(self.elements) < KEPT and self._bytes + size <= KEPT_BYTES
        self._bytes += size if room else 0
        content = {name: array.copy() for name, array in element.items()} if room else None
        self.elements.append(BadElement(index, tuple(found), content))


def _to_fail_with(found: Sequence[Violation]) -> str:
    error = element_error(found)
    return marked(error, str(error))
