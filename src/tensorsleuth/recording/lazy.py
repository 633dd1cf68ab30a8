"""Creates parts of a recording only when an op, function or session needs them, since most programs never do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """Returns the part when called, and creates it at the first call. `made` is the part, or None before."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.RLock()
        self.value: T | None = None

    def __call__(self) -> T:
        if self.value is None:
            with self._lock:
                if self.value is None:
                    self.value = self._make()
        return self.value
