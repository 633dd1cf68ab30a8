"""The activity at the end, in words that all kinds of ends use."""

from __future__ import annotations

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.run_end import RunningOp
from tensorsleuth.diagnose.exits.process_exit import ProcessExit
from tensorsleuth.diagnose.health_words import format_bytes


def describe_activity(process_exit: ProcessExit) -> str:
    """Return e.g. `train.py:31 was computing float32 [8192, 8192] (268 MB) with MatMul when it ended`."""
    doing = process_exit.running_op
    if doing is None:
        return "No op had begun when it ended"
    inner = doing.innermost
    where = f"{inner.file}:{inner.line}" if inner.file else "an unknown line"
    if inner.ended:
        return f"No op was running when it ended; the last one was {inner.op} at {where}"
    if inner.makes and inner.bytes:
        return f"{where} was computing {inner.makes} ({format_bytes(inner.bytes)}) with {inner.op} when it ended"
    return f"{where} was running {inner.op} when it ended"


def describe_running_op(running_op: RunningOp | None, frame: Frame | None) -> str:
    """Return the op in which Python code crashed, if that is another line."""
    if running_op is None or running_op.ended or running_op.innermost.file is None:
        return ""
    inner = running_op.innermost
    if frame is not None and (frame.file, frame.line) == (inner.file, inner.line):
        return f" (op {inner.op})"
    return f", during {inner.op} of {inner.file}:{inner.line}"


def format_seconds(seconds: float) -> str:
    """41 s, 5 min 12 s"""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
