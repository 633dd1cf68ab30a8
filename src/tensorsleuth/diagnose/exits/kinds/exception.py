"""An exception of Python's that nobody caught. Those of TensorFlow's ops are told by `failure`."""

from __future__ import annotations

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.exits.allocation import wanted
from tensorsleuth.diagnose.exits.end import End, Told
from tensorsleuth.diagnose.health_words import in_bytes

WISHED = ("KeyboardInterrupt", "SystemExit", "GeneratorExit")
OUT_OF_MEMORY = ("MemoryError", "_ArrayMemoryError", "numpy._core._exceptions._ArrayMemoryError")
LONGEST = 300  # characters of a message


def match(end: End) -> Told | None:
    uncaught = end.uncaught
    if not end.exit or uncaught is None or uncaught.type in WISHED:
        return None
    frame = uncaught.site.frame if uncaught.site is not None else None
    if uncaught.type in OUT_OF_MEMORY:
        return _out_of_memory(end, uncaught.message, frame)
    message = " ".join(uncaught.message.split())[:LONGEST]
    where = f"{frame.file}:{frame.line} raised" if frame is not None else "An unknown line raised"
    return Told("exception", 0.8, f"{where} {uncaught.type}{': ' if message else ''}{message}", None, frame)


def _out_of_memory(end: End, message: str, frame: Frame | None) -> Told:
    allocation = wanted(message)
    making = f"was making {allocation}" if allocation is not None else "asked for more memory than is available"
    where = f"{frame.file}:{frame.line}" if frame is not None else "an unknown line"
    bound = end.memory.limit or end.memory.machine
    there = f" The machine has {in_bytes(bound)}." if bound else ""
    fix = "allocate it in parts, in a smaller dtype, or map it from a file (np.memmap, tf.data)"
    return Told("memory-error", 0.95, f"Out of memory (MemoryError): {where} {making}.{there}", fix, frame)
