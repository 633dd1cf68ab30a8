"""Dimensions that have names: two of one name have one size.

In eager code a name holds in its thread, from the place that says it first until that place is reached again: then a
new round begins, so that a last batch may be smaller. It ends with the outermost of the program's own functions that
run (a test, a cell of a notebook, a thread's target), and where that goes back, in a loop. In a graph it holds for
one run: see native/src/ops/expect.cc.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from tensorsleuth.live.expect.report import JudgeReport
from tensorsleuth.recording.call_sites import is_user_file
from tensorsleuth.recording.calling_line import ProgramLine

NamedSizes = dict[str, tuple[int, ProgramLine]]  # name -> size, and by whose word
Bind = Callable[[str, int, ProgramLine], JudgeReport | None]

_numbers: dict[str, int] = {}
_next = itertools.count(1)
_here = threading.local()
_STRING = "<string>"


def dimension_number(name: str) -> int:
    """By which the native library knows a name."""
    return _numbers.setdefault(name, next(_next))


def bind_size(named_sizes: NamedSizes, name: str, size: int, program_line: ProgramLine) -> JudgeReport | None:
    """Take the size for the name's, or say whose word it is against."""
    had = named_sizes.get(name)
    if had is None or had[1] == program_line:
        named_sizes[name] = size, program_line
        return None
    return None if had[0] == size else JudgeReport("shape", dim=name, size=had[0], other=had[1])


class _Call:
    """Distinguished from every other call of the same function for as long as anybody asks."""

    def __call__(self, *_: object) -> None:
        """A tracer that begins while the function runs calls what it finds on the frame: there is nothing to do."""


def sizes_of_thread() -> NamedSizes:
    """Return the sizes that eager code named since the program's outermost function was called."""
    frame = _outermost()
    root, at = (_call_of(frame), frame.f_lasti) if frame is not None else (None, 0)
    if getattr(_here, "root", None) != root or at < _here.at:
        _here.root, _here.known = root, {}
    _here.at = at
    known: NamedSizes = _here.known
    return known


def _outermost() -> FrameType | None:
    """Return the outermost frame of a file, if any: `python -c` may only start others, as pytest-xdist does."""
    frame: FrameType | None = sys._getframe(2)
    found = None
    while frame is not None:
        name = frame.f_code.co_filename
        if is_user_file(name) and (found is None or name != _STRING):
            found = frame
        frame = frame.f_back
    return found


def _call_of(frame: FrameType) -> object:
    """Return the identity of a function call, without keeping its variables alive.

    A frame takes no weak reference, and a later call may get the memory of an earlier one. What a frame has for
    tracers is free while nobody traces, and lives as long as the call: it holds our mark. Under a tracer the frame's
    address has to do.
    """
    mark = frame.f_trace
    if mark is None and sys.gettrace() is None:
        frame.f_trace = mark = _Call()
    return mark if isinstance(mark, _Call) else (id(frame), frame.f_code)


def bind_sizes(
    named_sizes: NamedSizes, pairs: Sequence[tuple[Any, Any]], program_line: ProgramLine
) -> JudgeReport | None:
    """The first of the named dimensions that has another size already; sizes that are not known yet do not count."""
    first: dict[str, int] = {}
    for size, dim in pairs:
        if not isinstance(dim, str) or size is None or size < 0:
            continue
        if first.setdefault(dim, size) != size:  # twice in one shape
            return JudgeReport("shape", dim=dim, size=first[dim], other=program_line)
    return next(
        (
            found
            for dim, size in first.items()
            if (found := bind_size(named_sizes, dim, size, program_line)) is not None
        ),
        None,
    )
