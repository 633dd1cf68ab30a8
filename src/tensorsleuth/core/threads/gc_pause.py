"""Prevents garbage collection while our code runs on a thread of TensorFlow, or holds a lock that such a thread needs.

A collection may find the iterator of a pipeline, whose destructor waits for the pipeline's threads. That wait never
ends if one of these threads is itself collecting, or waits for a lock that the collecting thread holds. Garbage is
collected a moment later, elsewhere.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_pauses = 0
_was_on = False


@contextmanager
def no_collection() -> Iterator[None]:
    _enter()
    try:
        yield
    finally:
        _leave()


class GcPauseLock:
    """A reentrant lock that prevents garbage collection while it is held."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        _enter()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        _leave()


def _enter() -> None:
    """Turn collection off before taking the lock, and once more under it: another thread may just have turned it on."""
    global _pauses, _was_on
    was_on = gc.isenabled()
    gc.disable()
    with _lock:
        gc.disable()
        _was_on = _was_on or was_on
        _pauses += 1


def _leave() -> None:
    """Turn collection on after releasing the lock, since its holder must not collect."""
    global _pauses, _was_on
    with _lock:
        _pauses -= 1
        turns_on = not _pauses and _was_on
        _was_on = _was_on and not turns_on
    if turns_on:
        gc.enable()


def _reset_in_child() -> None:
    """Forget the threads that were inside: none of them exists in a forked child."""
    global _lock, _pauses, _was_on
    _lock, _pauses, was_on, _was_on = threading.Lock(), 0, _was_on, False
    if was_on:
        gc.enable()


os.register_at_fork(after_in_child=_reset_in_child)
