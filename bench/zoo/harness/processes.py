"""Runs one process to its end, and returns the time, the processor time and the memory that it took."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

LONGEST_RUN = 1200.0
"""Seconds after which a run counts as failed."""


class ProgramFailed(RuntimeError):
    """A run that did not end well; the text is the error it ended with."""


@dataclass(frozen=True)
class Usage:
    """Seconds of a process with all processes that it started, and the peak resident bytes of the largest of them.

    Linux counts the memory of the process that forked a child as the child's until the child's program starts. So the
    benchmark must stay smaller than what it measures, and imports no TensorFlow.
    """

    wall: float
    cpu: float
    peak: float


def run(
    command: Sequence[str], environment: Mapping[str, str], complaints: Path, longest: float = LONGEST_RUN
) -> Usage:
    """Run a command to its end, with its stderr in a file. Raise ProgramFailed if it fails or takes too long."""
    start = time.perf_counter()
    with complaints.open("w") as err:
        # A session of its own: a Ctrl-C reaches the benchmark alone, which then ends the processes of the child too.
        process = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
            start_new_session=True,
        )  # fmt: skip
    late = Timer(longest, _kill, [process.pid])
    late.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:
        _kill(process.pid)
        process.wait()
        raise
    finally:
        late.cancel()
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if wall >= longest:
        raise ProgramFailed(f"took more than {longest:.0f} s")
    if process.returncode != 0:
        raise ProgramFailed(_reason(complaints.read_text(errors="replace"), process.returncode))
    return Usage(wall, used.ru_utime + used.ru_stime, 1024.0 * used.ru_maxrss)


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _reason(complaints: str, code: int) -> str:
    """Return the error that Python printed last, else the last line."""
    lines = complaints.strip().splitlines()
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return [f"ended with {code}", *lines[-1:], *errors][-1]
