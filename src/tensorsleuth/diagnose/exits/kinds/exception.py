"""A Python exception that nobody caught. `failure` explains those of TensorFlow's ops."""

from __future__ import annotations

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.exits.allocation import requested_tensor
from tensorsleuth.diagnose.exits.exception_message import is_about_shapes, plain_message
from tensorsleuth.diagnose.exits.failure import DTYPE_MISMATCH
from tensorsleuth.diagnose.exits.process_exit import ExitExplanation, ProcessExit
from tensorsleuth.diagnose.exits.refusals.dtype_story import dtype_story
from tensorsleuth.diagnose.exits.shape_story import SHAPE_MISMATCH, story_of_refusal
from tensorsleuth.diagnose.health_words import format_bytes

REQUESTED_EXITS = ("KeyboardInterrupt", "SystemExit", "GeneratorExit")
MEMORY_ERRORS = ("MemoryError", "_ArrayMemoryError", "numpy._core._exceptions._ArrayMemoryError")
# They are raised where the fault is, or next to it.
SAYS_WHY = ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError")
SURE, LIKELY = 0.9, 0.8
MAX_MESSAGE_LENGTH = 300  # characters of a message


def match(process_exit: ProcessExit) -> ExitExplanation | None:
    uncaught = process_exit.uncaught
    if not process_exit.exit or uncaught is None or uncaught.type in REQUESTED_EXITS:
        return None
    frame = uncaught.site.frame if uncaught.site is not None else None
    if uncaught.type in MEMORY_ERRORS:
        return _out_of_memory(process_exit, uncaught.message, frame)
    dtypes = dtype_story(process_exit.process, uncaught.type, uncaught.message)
    if dtypes is not None:
        told = dtypes.sentence, dtypes.fix, dtypes.frame, dtypes.evidence
        return ExitExplanation(DTYPE_MISMATCH, dtypes.confidence, *told)
    story = story_of_refusal(process_exit.process, uncaught.type)
    if story is not None and (story.is_explained or uncaught.type == "ValueError"):
        return ExitExplanation(SHAPE_MISMATCH, story.confidence, story.sentence, story.fix, story.frame, story.evidence)
    message = plain_message(uncaught.message)[:MAX_MESSAGE_LENGTH]
    where = f"{frame.file}:{frame.line} raised" if frame is not None else "An unknown line raised"
    cause = SHAPE_MISMATCH if uncaught.type == "ValueError" and is_about_shapes(message) else "exception"
    confidence = SURE if uncaught.type in SAYS_WHY and frame is not None else LIKELY
    return ExitExplanation(cause, confidence, f"{where} {uncaught.type}{': ' if message else ''}{message}", None, frame)


def _out_of_memory(process_exit: ProcessExit, message: str, frame: Frame | None) -> ExitExplanation:
    allocation = requested_tensor(message)
    making = f"was making {allocation}" if allocation is not None else "asked for more memory than is available"
    where = f"{frame.file}:{frame.line}" if frame is not None else "an unknown line"
    bound = process_exit.memory.limit or process_exit.memory.machine
    there = f" The machine has {format_bytes(bound)}." if bound else ""
    fix = "allocate it in parts, in a smaller dtype, or map it from a file (np.memmap, tf.data)"
    return ExitExplanation("memory-error", 0.95, f"Out of memory (MemoryError): {where} {making}.{there}", fix, frame)
