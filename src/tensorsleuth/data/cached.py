"""A property that is found once and kept, without the lock that functools.cached_property holds before Python 3.12.

That lock is shared by all objects of a class: threads would wait for each other, and a pipeline's thread that waits for
it while the collector, in a thread that holds it, waits for that pipeline to end, would wait forever.
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
        owner.__dict__[self._name] = found  # which is looked at first from now on
        return found
