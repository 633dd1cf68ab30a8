"""Named dimensions: two dimensions with the same name must have the same size.

In eager code, the first `expect` call that uses a name sets its size for the current thread. When the thread reaches
that call again, a new round begins, so that the last batch may be smaller. All names end when the program's outermost
function (a test, a notebook cell, a thread's target) returns or jumps back in a loop. In a graph, names last for one
run: see native/src/ops/expect.cc.
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

NamedSizes = dict[str, tuple[int, ProgramLine]]  # name -> size, and the line that set it
Bind = Callable[[str, int, ProgramLine], JudgeReport | None]

_numbers: dict[str, int] = {}
_next = itertools.count(1)
_here = threading.local()
_STRING = "<string>"


def dimension_number(name: str) -> int:
    """Return the native library's number for a name."""
    return _numbers.setdefault(name, next(_next))


def bind_size(named_sizes: NamedSizes, name: str, size: int, program_line: ProgramLine) -> JudgeReport | None:
    """Set the size of a name. Report a conflict if another line has set another size."""
    had = named_sizes.get(name)
    if had is None or had[1] == program_line:
        named_sizes[name] = size, program_line
        return None
    return None if had[0] == size else JudgeReport("shape", dim=name, size=had[0], other=had[1])


class _Call:
    """Identifies one function call, for as long as somebody compares it."""

    def __call__(self, *_: object) -> None:
        """Do nothing. The object is the frame's f_trace, so a tracer that starts during the call would call it."""


def sizes_of_thread() -> NamedSizes:
    """Return the sizes that eager code has named since the program's outermost function was called."""
    frame = _outermost()
    root, at = (_call_of(frame), frame.f_lasti) if frame is not None else (None, 0)
    if getattr(_here, "root", None) != root or at < _here.at:
        _here.root, _here.known = root, {}
    _here.at = at
    known: NamedSizes = _here.known
    return known


def _outermost() -> FrameType | None:
    """Return the outermost frame that runs a file. A `python -c` frame does not count: pytest-xdist has one."""
    frame: FrameType | None = sys._getframe(2)
    found = None
    while frame is not None:
        name = frame.f_code.co_filename
        if is_user_file(name) and (found is None or name != _STRING):
            found = frame
        frame = frame.f_back
    return found


def _call_of(frame: FrameType) -> object:
    """Return an object that identifies a function call, without keeping its variables alive.

    A frame allows no weak reference, and a later frame may reuse its memory. So the frame's `f_trace` holds our object,
    which lives as long as the call. If a tracer uses `f_trace`, the frame's address identifies the call.
    """
    mark = frame.f_trace
    if mark is None and sys.gettrace() is None:
        frame.f_trace = mark = _Call()
    return mark if isinstance(mark, _Call) else (id(frame), frame.f_code)


def bind_sizes(
    named_sizes: NamedSizes, pairs: Sequence[tuple[Any, Any]], program_line: ProgramLine
) -> JudgeReport | None:
    """Return the first named dimension that conflicts with an earlier size. Unknown sizes are ignored."""
    first: dict[str, int] = {}
    for size, dim in pairs:
        if not isinstance(dim, str) or size is None or size < 0:
            continue
        if first.setdefault(dim, size) != size:  # one shape uses the name twice
            return JudgeReport("shape", dim=dim, size=first[dim], other=program_line)
    return next(
        (
            found
            for dim, size in first.items()
            if (found := bind_size(named_sizes, dim, size, program_line)) is not None
        ),
        None,
    )
