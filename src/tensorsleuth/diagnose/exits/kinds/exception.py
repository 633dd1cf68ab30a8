"""A Python exception that nobody caught. `failure` explains those of TensorFlow's ops."""

from __future__ import annotations

import re

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.exits.allocation import requested_tensor
from tensorsleuth.diagnose.exits.process_exit import ExitExplanation, ProcessExit
from tensorsleuth.diagnose.health_words import format_bytes

REQUESTED_EXITS = ("KeyboardInterrupt", "SystemExit", "GeneratorExit")
MEMORY_ERRORS = ("MemoryError", "_ArrayMemoryError", "numpy._core._exceptions._ArrayMemoryError")
MAX_MESSAGE_LENGTH = 300  # characters of a message
USER_CODE = "in user code:"
_ERROR_NAME = re.compile(r"^\w+(Error|Exception): ")
_USER_FRAME = re.compile(r'File "([^"]+)", line (\d+), in .*\*')
_MET_SHAPES = re.compile(
    r"(?P<why>.+?) for '\{\{node [^}]*\}\} = (?P<op>\w+).* with input shapes: (?P<shapes>\[.*?\](?:, \[.*?\])*)"
)


def match(process_exit: ProcessExit) -> ExitExplanation | None:
    uncaught = process_exit.uncaught
    if not process_exit.exit or uncaught is None or uncaught.type in REQUESTED_EXITS:
        return None
    frame = uncaught.site.frame if uncaught.site is not None else None
    if uncaught.type in MEMORY_ERRORS:
        return _out_of_memory(process_exit, uncaught.message, frame)
    message = plain_message(uncaught.message)[:MAX_MESSAGE_LENGTH]
    where = f"{frame.file}:{frame.line} raised" if frame is not None else "An unknown line raised"
    return ExitExplanation("exception", 0.8, f"{where} {uncaught.type}{': ' if message else ''}{message}", None, frame)


def plain_message(message: str) -> str:
    """Return what an exception says, without AutoGraph's stack in front; of shapes, first which they are."""
    stack, mark, last = message.rpartition("\n\n") if message.lstrip().startswith(USER_CODE) else ("", "", message)
    told = " ".join(_ERROR_NAME.sub("", last.strip() if mark else message).split())
    shapes = _MET_SHAPES.match(told)
    if shapes is not None:
        told = f"{shapes['op']} got the shapes {shapes['shapes']}. {shapes['why']}"
    called = _USER_FRAME.findall(stack)[:-1]
    return f"{told.rstrip('.')} (called from {called[-1][0]}:{called[-1][1]})" if called else told


def _out_of_memory(process_exit: ProcessExit, message: str, frame: Frame | None) -> ExitExplanation:
    allocation = requested_tensor(message)
    making = f"was making {allocation}" if allocation is not None else "asked for more memory than is available"
    where = f"{frame.file}:{frame.line}" if frame is not None else "an unknown line"
    bound = process_exit.memory.limit or process_exit.memory.machine
    there = f" The machine has {format_bytes(bound)}." if bound else ""
    fix = "allocate it in parts, in a smaller dtype, or map it from a file (np.memmap, tf.data)"
    return ExitExplanation("memory-error", 0.95, f"Out of memory (MemoryError): {where} {making}.{there}", fix, frame)
