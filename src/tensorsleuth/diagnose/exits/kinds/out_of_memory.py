"""The kernel killed the program because there was no memory left: in its container, or on the machine."""

from __future__ import annotations

from tensorsleuth.diagnose.exits.process_exit import ExitExplanation, ProcessExit
from tensorsleuth.diagnose.exits.wording import describe_activity
from tensorsleuth.diagnose.health_words import format_bytes, format_limit

NEARLY_FULL = 0.85  # of all there is
MANY_TENSORS = 4  # tensors of one op that are held at once
FIX = "use a smaller batch or sequence, or allocate less at that line"


def match(process_exit: ProcessExit) -> ExitExplanation | None:
    if process_exit.signal != "SIGKILL" and not (process_exit.cut_short and _is_nearly_full(process_exit)):
        return None
    confidence = _confidence(process_exit)
    if not confidence:
        return None
    sure = "" if confidence > 0.8 else " (very likely: no kernel message says so, but it used nearly all memory)"
    sentence = f"Killed: out of memory{sure}. {_limit(process_exit)}. {describe_activity(process_exit)}."
    return ExitExplanation("killed-out-of-memory", confidence, sentence, _fix(process_exit))


def _confidence(process_exit: ProcessExit) -> float:
    if process_exit.kernel_counters.get("logged") is not None or _count(process_exit, "kills"):
        return 0.95
    counted = process_exit.kernel_counters.get("kills") is not None
    if not counted and _count(process_exit, "full"):
        return 0.85
    return 0.75 if not counted and _is_nearly_full(process_exit) else 0.0


def _count(process_exit: ProcessExit, name: str) -> int:
    value = process_exit.kernel_counters.get(name)
    return value if isinstance(value, int) else 0


def _is_nearly_full(process_exit: ProcessExit) -> bool:
    """Return whether it used nearly all memory."""
    memory = process_exit.memory
    had = max(memory.used or 0, memory.peak or 0)
    most = min((bound for bound in (memory.limit, memory.machine) if bound), default=0)
    return bool(most) and had >= NEARLY_FULL * most


def _limit(process_exit: ProcessExit) -> str:
    memory = process_exit.memory
    if memory.limit is not None and process_exit.kernel_counters.get("logged") != "machine":
        return f"The container's limit is {format_limit(memory.limit)}"
    whole = f"The machine has {format_bytes(memory.machine)}" if memory.machine else "The machine was full"
    return f"{whole}, of which this program had {format_bytes(memory.peak)}" if memory.peak else whole


def _fix(process_exit: ProcessExit) -> str:
    memory = process_exit.memory
    doing = process_exit.running_op.innermost if process_exit.running_op is not None else None
    making = doing.bytes if doing is not None and not doing.ended else None
    largest = next(iter(memory.largest), None)
    if making and memory.limit and making > memory.limit / 4:
        return (
            f"the tensor computed there needs {format_bytes(making)} of {format_bytes(memory.limit)} alone: "
            "make it smaller"
        )
    if largest is None or largest.line is None:
        return FIX
    if largest.count >= MANY_TENSORS and largest.bytes > (memory.used or 0) / 4:
        what = f"{largest.count} tensors that {largest.line} made were still in memory ({format_bytes(largest.bytes)})"
        return f"{what}: a list or history still holds them. Keep numbers instead (float(x), x.numpy())"
    return f"{FIX}; the largest tensor was {format_bytes(largest.bytes)}, made at {largest.line}"
