"""A property that is computed once and kept, without the lock that functools.cached_property holds before Python 3.12.

All objects of a class share that lock, so threads would wait for each other. A pipeline's thread could wait for it
forever, if the garbage collector runs in the thread that holds it and waits for that pipeline to end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class once(Generic[T]):
    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    def __get__(self, owner: Any, kind: type) -> T:
        found = self._find(owner)
        owner.__dict__[self._name] = found  # found first from now on
        return found
