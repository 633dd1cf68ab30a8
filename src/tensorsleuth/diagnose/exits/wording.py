"""The activity at the end, in words that all kinds of ends use."""

from __future__ import annotations

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.last_moments import Doing
from tensorsleuth.diagnose.exits.end import End
from tensorsleuth.diagnose.health_words import in_bytes


def was_doing(end: End) -> str:
    """Return e.g. `train.py:31 was computing float32 [8192, 8192] (268 MB) with MatMul when it ended`."""
    doing = end.doing
    if doing is None:
        return "No op had begun when it ended"
    inner = doing.innermost
    where = f"{inner.file}:{inner.line}" if inner.file else "an unknown line"
    if inner.ended:
        return f"No op was running when it ended; the last one was {inner.op} at {where}"
    if inner.makes and inner.bytes:
        return f"{where} was computing {inner.makes} ({in_bytes(inner.bytes)}) with {inner.op} when it ended"
    return f"{where} was running {inner.op} when it ended"


def also_running(doing: Doing | None, frame: Frame | None) -> str:
    """The op that a crash in Python code happened in, where that is another line."""
    if doing is None or doing.ended or doing.innermost.file is None:
        return ""
    inner = doing.innermost
    if frame is not None and (frame.file, frame.line) == (inner.file, inner.line):
        return f" (op {inner.op})"
    return f", during {inner.op} of {inner.file}:{inner.line}"


def in_time(seconds: float) -> str:
    """41 s, 5 min 12 s"""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
