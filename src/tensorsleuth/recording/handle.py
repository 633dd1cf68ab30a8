"""The handle of a recording, guard, watch or break point, usable in a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Generic, TypeVar

E = TypeVar("E", bound="Handle")
T = TypeVar("T")


class Handle(ABC):
    """Ends with its `with` block, unless it has ended before."""

    @abstractmethod
    def _end(self) -> None:
        """End the recording, guard, watch or break point. A second call does nothing."""

    def __enter__(self: E) -> E:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()


class RemovableHandle(Handle, Generic[T]):
    """The handle of one of several things that may be removed in any order."""

    def __init__(self, held: T) -> None:
        self._target: T | None = held

    @abstractmethod
    def _on_remove(self, held: T) -> None: ...

    def remove(self) -> None:
        """Remove it. Removing twice does nothing."""
        held, self._target = self._target, None
        if held is not None:
            self._on_remove(held)

    def _end(self) -> None:
        self.remove()
