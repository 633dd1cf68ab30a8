"""The line of the program that called a function of ours."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from types import CodeType, FrameType

from tensorsleuth.recording.call_sites import is_framework_file, is_user_file


@dataclass(frozen=True)
class ProgramLine:
    """A file and a line of the user's program."""

    file: str | None = None
    line: int | None = None
    function: str | None = None

    @property
    def code(self) -> str | None:
        """Return the text of the line."""
        text = linecache.getline(self.file, self.line).strip() if self.file and self.line else ""
        return text or None

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}" if self.file else "an unknown line"


_known: dict[tuple[CodeType, int], ProgramLine | None] = {}  # None: not a line of the user's


def calling_line() -> ProgramLine:
    """Return the innermost line of the program on the stack, or that of an installed package if there is none."""
    frame: FrameType | None = sys._getframe(1)
    nearest = ProgramLine()
    while frame is not None:
        place = _line_of(frame)
        if place is not None:
            if is_user_file(place.file or ""):
                return place
            nearest = nearest if nearest.file else place
        frame = frame.f_back
    return nearest


def _line_of(frame: FrameType) -> ProgramLine | None:
    key = frame.f_code, frame.f_lineno
    if key not in _known:
        _known[key] = _original_line(frame)
    return _known[key]


def _original_line(frame: FrameType) -> ProgramLine | None:
    """Return the user's line, also for code that AutoGraph generated; None for TensorFlow's and our own lines."""
    file, line, name = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
    if "__autograph_generated_file" in file:
        from tensorsleuth.recording.tensorflow.autograph import original_frame

        found = original_frame((file, line, name))
        if found is None:
            return None
        file, line, name = found
    return None if is_framework_file(file) else ProgramLine(file, line, name)
