"""The kernel killed the program because there was no memory left: in its container, or on the machine."""

from __future__ import annotations

from tensorsleuth.diagnose.exits.end import End, Told
from tensorsleuth.diagnose.exits.wording import was_doing
from tensorsleuth.diagnose.health_words import in_bytes, limit_in_bytes

NEAR = 0.85  # of all there is
MANY = 4  # tensors of one op that are held at once
FIX = "use a smaller batch or sequence, or allocate less at that line"


def match(end: End) -> Told | None:
    if end.signal != "SIGKILL" and not (end.cut_short and _is_near(end)):
        return None
    confidence = _confidence(end)
    if not confidence:
        return None
    sure = "" if confidence > 0.8 else " (very likely: no kernel message says so, but it used nearly all memory)"
    sentence = f"Killed: out of memory{sure}. {_limit(end)}. {was_doing(end)}."
    return Told("killed-out-of-memory", confidence, sentence, _fix(end))


def _confidence(end: End) -> float:
    if end.kernel.get("logged") is not None or _count(end, "kills"):
        return 0.95
    counted = end.kernel.get("kills") is not None
    if not counted and _count(end, "full"):
        return 0.85
    return 0.75 if not counted and _is_near(end) else 0.0


def _count(end: End, name: str) -> int:
    value = end.kernel.get(name)
    return value if isinstance(value, int) else 0


def _is_near(end: End) -> bool:
    """Did it have nearly all there is."""
    memory = end.memory
    had = max(memory.used or 0, memory.peak or 0)
    most = min((bound for bound in (memory.limit, memory.machine) if bound), default=0)
    return bool(most) and had >= NEAR * most


def _limit(end: End) -> str:
    memory = end.memory
    if memory.limit is not None and end.kernel.get("logged") != "machine":
        return f"The container's limit is {limit_in_bytes(memory.limit)}"
    whole = f"The machine has {in_bytes(memory.machine)}" if memory.machine else "The machine was full"
    return f"{whole}, of which this program had {in_bytes(memory.peak)}" if memory.peak else whole


def _fix(end: End) -> str:
    memory = end.memory
    doing = end.doing.innermost if end.doing is not None else None
    making = doing.bytes if doing is not None and not doing.ended else None
    largest = next(iter(memory.largest), None)
    if making and memory.limit and making > memory.limit / 4:
        return f"the tensor computed there needs {in_bytes(making)} of {in_bytes(memory.limit)} alone: make it smaller"
    if largest is None or largest.line is None:
        return FIX
    if largest.count >= MANY and largest.bytes > (memory.used or 0) / 4:
        what = f"{largest.count} tensors that {largest.line} made were still in memory ({in_bytes(largest.bytes)})"
        return f"{what}: a list or history still holds them. Keep numbers instead (float(x), x.numpy())"
    return f"{FIX}; the largest tensor was {in_bytes(largest.bytes)}, made at {largest.line}"
