"""Native code gave up: a check of TensorFlow's, of the C library or of C++ failed."""

from __future__ import annotations

import re

from tensorsleuth.diagnose.exits.process_exit import ExitExplanation, ProcessExit
from tensorsleuth.diagnose.exits.wording import describe_activity, describe_running_op

_STAMP = re.compile(r"^(\S+ \S+: F |F\d{4} \S+ +\d+ )")  # when, where in TensorFlow's sources
_OUT_OF_MEMORY = re.compile(r"bad_alloc|out of memory|cannot allocate", re.I)


def match(process_exit: ProcessExit) -> ExitExplanation | None:
    if process_exit.signal != "SIGABRT":
        return None
    reason = _STAMP.sub("", process_exit.stderr_lines[-1]) if process_exit.stderr_lines else None
    said = f': its message was "{reason}"' if reason else ": its last message is on stderr"
    frame = process_exit.crash_frame
    if frame is not None:
        where = (
            f"{frame.file}:{frame.line} in {frame.function} was "
            f"running{describe_running_op(process_exit.running_op, frame)}"
        )
    else:
        where = describe_activity(process_exit)
    if reason and _OUT_OF_MEMORY.search(reason):
        return ExitExplanation(
            "aborted-out-of-memory", 0.92, f"Aborted: out of memory{said}. {where}.", "use less at once", frame
        )
    fix = "read the failed check above, then look at the inputs of that line (shapes, sizes, files)"
    return ExitExplanation("aborted", 0.9, f"Aborted (SIGABRT){said}. {where}.", fix, frame)
