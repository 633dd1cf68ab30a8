"""Unique names for variables: in many programs variables have no names, and TensorFlow calls all `CapturedVariable`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from weakref import ref

MAX_VARIABLES = 1 << 16  # a bound, because a program may create variables without end


class UniqueVariableNames:
    """Keeps a name for its first variable and calls the next `name:1`. A deleted variable frees its name."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}  # by the id of the handle
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
