"""Keeps Python's collector quiet where a thread of TensorFlow's runs our code, or a lock is held that it may want.

A collection may find the iterator of a pipeline, whose end waits for the pipeline's threads: forever, where one of
those is the thread that collects, or waits for a lock that the collecting thread holds. What is to be collected is
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
    """A lock, which may be taken again by who holds it, under which nothing is collected."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        _enter()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        _leave()


def _enter() -> None:
    """Off before the lock is asked for, and once more under it: another thread may just have turned it on."""
    global _pauses, _was_on
    was_on = gc.isenabled()
    gc.disable()
    with _lock:
        gc.disable()
        _was_on = _was_on or was_on
        _pauses += 1


def _leave() -> None:
    """On after the lock is given back: who holds it must not collect."""
    global _pauses, _was_on
    with _lock:
        _pauses -= 1
        turns_on = not _pauses and _was_on
        _was_on = _was_on and not turns_on
    if turns_on:
        gc.enable()


def _reset_in_child() -> None:
    """In a forked child none of the threads is left that were inside."""
    global _lock, _pauses, _was_on
    _lock, _pauses, was_on, _was_on = threading.Lock(), 0, _was_on, False
    if was_on:
        gc.enable()


os.register_at_fork(after_in_child=_reset_in_child)
