"""Nothing happened any more, until somebody ended the program; or it still runs so."""

from __future__ import annotations

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.exits.end import STOPPED, End, Told
from tensorsleuth.diagnose.exits.wording import also_running, in_time, was_doing

LONG = 60.0  # seconds without a row that are told where nobody asked for another number
IDLE = 0.05  # of a core
WAITS = "it waits for something that never comes (a lock, queue, generator or process): give the wait a time limit"
COMPUTES = "it computes: look for an endless loop, or for one op with a far larger input than intended"


def match(end: End) -> Told | None:
    quiet = end.quiet
    if quiet is None or end.closed or not (_was_stopped(end) or end.alive) or not (_noted(end) or _long(end)):
        return None
    frame = _frame(end)
    busy = end.hang.get("busy")
    idle = not isinstance(busy, float) or busy < IDLE
    used = f" It {'waited' if idle else 'computed'} ({busy:.0%} of a core)." if isinstance(busy, float) else ""
    until = f", until {end.signal or 'Ctrl-C'} ended it" if not end.alive else ", and it still runs"
    if frame is not None:
        where = f"{frame.file}:{frame.line} in {frame.function} was running{also_running(end.doing, frame)}"
    else:
        where = was_doing(end)
    sentence = f"Hung: nothing happened for {in_time(quiet)}{until}.{used} {where}."
    return Told("hang", 0.98 if _noted(end) else 0.72, sentence, WAITS if idle else COMPUTES, frame)


def _was_stopped(end: End) -> bool:
    interrupted = end.uncaught is not None and end.uncaught.type == "KeyboardInterrupt"
    return interrupted or end.signal in (*STOPPED, "SIGKILL")


def _noted(end: End) -> bool:
    """Did `sleuth run` see it hang; and nothing happened after."""
    time = end.hang.get("time")
    return isinstance(time, float) and end.quiet is not None and end.now - end.quiet * 1e9 < _clock(end, time)


def _clock(end: End, time: float) -> float:
    return time * 1e9 - end.process.epoch


def _long(end: End) -> bool:
    """Nobody wrote it down; but somebody at a keyboard lost patience."""
    by_hand = end.signal in ("SIGINT", "SIGQUIT") or (end.signal is None and not end.alive)
    return by_hand and end.quiet is not None and end.quiet >= LONG


def _frame(end: End) -> Frame | None:
    """The program's own line: of Python that TensorFlow called, where there is some, else of the main thread."""
    stacks = sorted(end.stacks, key=lambda stack: not stack.called_by_tensorflow)
    found = next((stack.frame for stack in stacks if stack.frame is not None), None)
    if found is None and end.uncaught is not None and end.uncaught.site is not None:
        return end.uncaught.site.frame
    return found
