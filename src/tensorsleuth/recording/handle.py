"""The handle of a recording, guard, watch or break point, usable in a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Generic, TypeVar

E = TypeVar("E", bound="Ending")
T = TypeVar("T")


class Ending(ABC):
    """Ends with its `with` block, where it has not before."""

    @abstractmethod
    def _end(self) -> None:
        """Twice does nothing."""

    def __enter__(self: E) -> E:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()


class Removable(Ending, Generic[T]):
    """Stands for one of several that may be taken away in any order."""

    def __init__(self, held: T) -> None:
        self._held: T | None = held

    @abstractmethod
    def _take_away(self, held: T) -> None: ...

    def remove(self) -> None:
        """Take it away. Removing twice does nothing."""
        held, self._held = self._held, None
        if held is not None:
            self._take_away(held)

    def _end(self) -> None:
        self.remove()
