"""Keeps Python's collector quiet while a thread of a pipeline runs our code.

A collection there may find the iterator of another pipeline, whose end waits for its threads; and one of those may wait
for a lock that the collecting thread holds. What is to be collected is collected a moment later, elsewhere.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_was_on = False


@contextmanager
def no_collection() -> Iterator[None]:
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _was_on
    with _lock:
        if not _inside:
            _was_on = gc.isenabled()
            gc.disable()
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if not _inside and _was_on:
            gc.enable()
