"""Reads the stacks that Python's faulthandler wrote in a crash, or on request."""

from __future__ import annotations

import re
from pathlib import Path

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.run_end import ThreadStack
from tensorsleuth.trace.storage.files import open_regular
from tensorsleuth.trace.storage.run_folder import FAULTS_FOLDER

MAX_DUMP_BYTES = 1 << 20
_NOT_OWN = re.compile(r"/(site|dist)-packages/|/lib(64)?/python\d|^<(frozen|__array_function)|__autograph_generated")
_OURS = re.compile(r"/tensorsleuth/(?!demo/)")
_THREAD = re.compile(r"(Current thread|Thread|Stack) ?(0x[0-9a-f]+)?.*\(most recent call first\):")
_FRAME = re.compile(r'  File "(.*)", line (\d+|\?\?\?) in (.*)')
_FATAL = re.compile(r"Fatal Python error: (.+)")


def stacks_of(run: Path, pid: int) -> tuple[list[ThreadStack], str | None]:
    """Return the newest stacks, the crashed thread's first, and Python's name of the error."""
    try:
        with open_regular(run / FAULTS_FOLDER / str(pid)) as file:
            text = file.read(MAX_DUMP_BYTES).decode(errors="replace")
    except OSError:
        return [], None
    return read_stacks(text)


def read_stacks(text: str) -> tuple[list[ThreadStack], str | None]:
    """Return the stacks in a file of faulthandler; if it has several dumps, the last."""
    errors = list(_FATAL.finditer(text))
    said = errors[-1].group(1) if errors else None
    text = text[errors[-1].start() :] if errors else text[_last_dump(text) :]
    stacks: list[tuple[bool, list[Frame]]] = []
    for line in text.splitlines():
        thread, frame = _THREAD.match(line), _FRAME.match(line)
        if thread is not None:
            stacks.append((thread.group(1) != "Thread", []))
        elif frame is not None and stacks and not _OURS.search(line):
            number = int(frame.group(2)) if frame.group(2).isdigit() else 0
            stacks[-1][1].append(Frame(frame.group(1), number, frame.group(3)))
    told = [_stack(current, frames) for current, frames in stacks if frames]
    return sorted(told, key=lambda stack: not stack.current), said


def _last_dump(text: str) -> int:
    """Return the start of the last requested dump. Each dump has one current thread, and lists it last."""
    ends = [match.start() for match in re.finditer(r"^Current thread", text, re.M)]
    if len(ends) < 2:
        return 0
    following = re.compile(r"^Thread ", re.M).search(text, ends[-2])
    return following.start() if following is not None and following.start() < ends[-1] else ends[-1]


def _stack(current: bool, frames: list[Frame]) -> ThreadStack:
    user = next((at for at, frame in enumerate(frames) if not _NOT_OWN.search(frame.file)), -1)
    return ThreadStack(current, tuple(frames), user)
