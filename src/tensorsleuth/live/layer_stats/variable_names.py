"""Names for variables that are theirs alone: many programs give none, and then all are called `CapturedVariable`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from weakref import ref

MAX_VARIABLES = 1 << 16  # a program may make variables without end


class UniqueVariableNames:
    """The first variable of a name has it as it is, the next is called `name:1`; who is gone makes room for another."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}  # by the number of the handle
        self._holders: defaultdict[str, list[Any]] = defaultdict(list)  # weak references to the handles

    def of(self, name: str, handle: Any) -> str:
        number = getattr(handle, "_id", None)
        if number is None or (number not in self._known and len(self._known) >= MAX_VARIABLES):
            return name
        if number not in self._known:
            place = self._place(self._holders[name], handle)
            self._known[number] = f"{name}:{place}" if place else name
        return self._known[number]

    def _place(self, holders: list[Any], handle: Any) -> int:
        free = next((at for at, holder in enumerate(holders) if holder() is None), len(holders))
        holders[free : free + 1] = [ref(handle)]
        return free
