"""Dimensions that have names: two of one name have one size.

In eager code a name holds in its thread, from the place that says it first until that place is reached again: then a
new round begins, so that a last batch may be smaller. It ends with the outermost of the program's own functions that
run (a test, a cell of a notebook, a thread's target), and where that goes back, in a loop. In a graph it holds for
one run: see native/src/expect.cc.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any

from tensorsleuth.capture.sites import is_user
from tensorsleuth.checking.place import Place
from tensorsleuth.checking.report import Report

Known = dict[str, tuple[int, Place]]  # name -> size, and by whose word
Bind = Callable[[str, int, Place], Report | None]

_numbers: dict[str, int] = {}
_next = itertools.count(1)
_here = threading.local()


def number_of(name: str) -> int:
    """By which the native library knows a name."""
    return _numbers.setdefault(name, next(_next))


def bind(known: Known, name: str, size: int, place: Place) -> Report | None:
    """Take the size for the name's, or say whose word it is against."""
    had = known.get(name)
    if had is None or had[1] == place:
        known[name] = size, place
        return None
    return None if had[0] == size else Report("shape", dim=name, size=had[0], other=had[1])


def of_this_thread() -> Known:
    """What eager code has said since the outermost of the program's own functions was called."""
    root, at = _outermost()
    if getattr(_here, "root", None) != root or at < _here.at:
        _here.root, _here.known = root, {}
    _here.at = at
    known: Known = _here.known
    return known


def _outermost() -> tuple[tuple[int, CodeType] | None, int]:
    """What tells a call of a function from others, without keeping it alive; and how far it is.

    A later call may get the frame of an earlier one: then it is further back.
    """
    frame: FrameType | None = sys._getframe(2)
    found, at = None, 0
    while frame is not None:
        if is_user(frame.f_code.co_filename):
            found, at = (id(frame), frame.f_code), frame.f_lasti
        frame = frame.f_back
    return found, at


def bind_all(known: Known, pairs: Sequence[tuple[Any, Any]], place: Place) -> Report | None:
    """The first of the named dimensions that has another size already; sizes that are not known yet do not count."""
    first: dict[str, int] = {}
    for size, dim in pairs:
        if not isinstance(dim, str) or size is None or size < 0:
            continue
        if first.setdefault(dim, size) != size:  # twice in one shape
            return Report("shape", dim=dim, size=first[dim], other=place)
    return next((found for dim, size in first.items() if (found := bind(known, dim, size, place)) is not None), None)
