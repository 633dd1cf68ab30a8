"""Numbers, times and names for people."""

from __future__ import annotations

import time

UNKNOWN = "–"
BYTES = (" B", " kB", " MB", " GB", " TB", " PB")


def count(number: int | None) -> str:
    """Return a text such as `301,422`."""
    return UNKNOWN if number is None else f"{number:,}"


def plural(number: int, thing: str) -> str:
    """Return a text such as `1 step` or `2 steps`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def step_span(first: int, last: int) -> str:
    """Return a text such as `step 4` or `steps 0 to 300`."""
    return f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"


def short_count(number: int | None) -> str:
    """Return a text such as `301k`."""
    if number is None or number < 10_000:
        return count(number)
    return _scaled(number, 1000, ("", "k", "M", "G", "T", "P"))


def size(number: int | None) -> str:
    """Return a text such as `31 MB`."""
    return UNKNOWN if number is None else _scaled(number, 1000, BYTES)


def fine_size(number: int) -> str:
    """Return three digits, such as `1.13 MB`, `52.4 MB`, `149 kB`, for sizes that are multiplied by a batch."""
    amount, place = float(number), 0
    while abs(amount) >= 999.5 and place < len(BYTES) - 1:
        amount, place = amount / 1000, place + 1
    return f"{amount:.3g}{BYTES[place]}"


def duration(seconds: float | None) -> str:
    """Return a text such as `0.3 s`, `41 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds is None:
        return UNKNOWN
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def age(started: float, now: float) -> str:
    """Return a text such as `12 s`, `5 min`, `3 h`, `9 d`."""
    if started <= 0:
        return UNKNOWN
    seconds = max(0.0, now - started)
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds // unit:.0f} {name}"
    return f"{seconds:.0f} s"


def local_time(epoch: float) -> str:
    """Return a text such as `2025-11-15 22:15:00`."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(epoch)) if epoch > 0 else UNKNOWN
    except (ValueError, OverflowError, OSError):  # a run.json may contain any number
        return UNKNOWN


def printable(text: str) -> str:
    """Return text of a trace that is safe to print, without escape sequences."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def cut_start(text: str, room: int) -> str:
    """Cut the start of a name, since its end says more."""
    return text if len(text) <= room else "…" + text[len(text) - room + 1 :]


def _scaled(number: float, base: int, units: tuple[str, ...]) -> str:
    place = 0
    while number >= 999.5 and place < len(units) - 1:
        number /= base
        place += 1
    digits = 1 if number < 9.95 and place else 0
    return f"{number:.{digits}f}{units[place]}"
