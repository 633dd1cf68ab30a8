"""Parts of a recording that most programs never need: made where the first op, function or session asks for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """Calling it gives the part, which the first call makes; `made` is the part, or None so far."""

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
