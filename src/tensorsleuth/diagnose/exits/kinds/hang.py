"""A program in which nothing happened until somebody ended it, or that still hangs."""

from __future__ import annotations

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.exits.process_exit import STOP_SIGNALS, ExitExplanation, ProcessExit
from tensorsleuth.diagnose.exits.wording import describe_activity, describe_running_op, format_seconds

MIN_QUIET_SECONDS = 60.0  # seconds without a row that are told where nobody asked for another number
MAX_IDLE_LOAD = 0.05  # of a core
WAITING_FIX = (
    "it waits for something that never comes (a lock, queue, generator or process): give the wait a time limit"
)
COMPUTING_FIX = "it computes: look for an endless loop, or for one op with a far larger input than intended"


def match(process_exit: ProcessExit) -> ExitExplanation | None:
    quiet = process_exit.quiet_seconds
    if (
        quiet is None
        or process_exit.recording_closed
        or not (_was_stopped(process_exit) or process_exit.alive)
        or not (_was_noted(process_exit) or _was_quiet_long(process_exit))
    ):
        return None
    frame = _frame(process_exit)
    busy = process_exit.hang_notes.get("busy")
    idle = not isinstance(busy, float) or busy < MAX_IDLE_LOAD
    used = f" It {'waited' if idle else 'computed'} ({busy:.0%} of a core)." if isinstance(busy, float) else ""
    until = f", until {process_exit.signal or 'Ctrl-C'} ended it" if not process_exit.alive else ", and it still runs"
    if frame is not None:
        where = (
            f"{frame.file}:{frame.line} in {frame.function} was "
            f"running{describe_running_op(process_exit.running_op, frame)}"
        )
    else:
        where = describe_activity(process_exit)
    sentence = f"Hung: nothing happened for {format_seconds(quiet)}{until}.{used} {where}."
    return ExitExplanation(
        "hang", 0.98 if _was_noted(process_exit) else 0.72, sentence, WAITING_FIX if idle else COMPUTING_FIX, frame
    )


def _was_stopped(process_exit: ProcessExit) -> bool:
    interrupted = process_exit.uncaught is not None and process_exit.uncaught.type == "KeyboardInterrupt"
    return interrupted or process_exit.signal in (*STOP_SIGNALS, "SIGKILL")


def _was_noted(process_exit: ProcessExit) -> bool:
    """Return whether `sleuth run` noted a hang and nothing happened after it."""
    time = process_exit.hang_notes.get("time")
    return (
        isinstance(time, float)
        and process_exit.quiet_seconds is not None
        and process_exit.end_time - process_exit.quiet_seconds * 1e9 < _clock(process_exit, time)
    )


def _clock(process_exit: ProcessExit, time: float) -> float:
    return time * 1e9 - process_exit.process.epoch


def _was_quiet_long(process_exit: ProcessExit) -> bool:
    """Return whether nothing had happened for long before somebody pressed Ctrl-C."""
    by_hand = process_exit.signal in ("SIGINT", "SIGQUIT") or (process_exit.signal is None and not process_exit.alive)
    return by_hand and process_exit.quiet_seconds is not None and process_exit.quiet_seconds >= MIN_QUIET_SECONDS


def _frame(process_exit: ProcessExit) -> Frame | None:
    """Return the program's own line: of Python code that TensorFlow called, else of the main thread."""
    stacks = sorted(process_exit.stacks, key=lambda stack: not stack.called_by_tensorflow)
    found = next((stack.frame for stack in stacks if stack.frame is not None), None)
    if found is None and process_exit.uncaught is not None and process_exit.uncaught.site is not None:
        return process_exit.uncaught.site.frame
    return found
