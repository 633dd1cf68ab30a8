"""Native code gave up: a check of TensorFlow's, of the C library or of C++ failed."""

from __future__ import annotations

import re

from tensorsleuth.diagnose.exits.end import End, Told
from tensorsleuth.diagnose.exits.wording import also_running, was_doing

_STAMP = re.compile(r"^(\S+ \S+: F |F\d{4} \S+ +\d+ )")  # when, where in TensorFlow's sources
_MEMORY = re.compile(r"bad_alloc|out of memory|cannot allocate", re.I)


def match(end: End) -> Told | None:
    if end.signal != "SIGABRT":
        return None
    reason = _STAMP.sub("", end.said[-1]) if end.said else None
    said = f': its message was "{reason}"' if reason else ": its last message is on stderr"
    frame = end.crashed_at
    if frame is not None:
        where = f"{frame.file}:{frame.line} in {frame.function} was running{also_running(end.doing, frame)}"
    else:
        where = was_doing(end)
    if reason and _MEMORY.search(reason):
        return Told("aborted-out-of-memory", 0.92, f"Aborted: out of memory{said}. {where}.", "use less at once", frame)
    fix = "read the failed check above, then look at the inputs of that line (shapes, sizes, files)"
    return Told("aborted", 0.9, f"Aborted (SIGABRT){said}. {where}.", fix, frame)
