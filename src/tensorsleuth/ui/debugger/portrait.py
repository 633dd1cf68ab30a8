"""A tensor in a few words: what the list, the details and the walk show of it."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.diagnose.health_words import describe_health, in_words
from tensorsleuth.trace.query.tensor_event import TensorEvent

PARTS = ("neg", "zero", "pos", "neg_inf", "pos_inf", "nan")
NOT_SEEN = "not seen: fused into another op, or without an output"


@dataclass(frozen=True)
class Portrait:
    """The portrait of one tensor."""

    name: str
    op: str
    layer: str | None
    when: str
    kind: str  # float32 [64, 3]
    state: str  # one word: ok, NaN, −∞, +∞, ∞, ?
    bad: bool
    words: str
    first_bad: str | None  # row 10, column 1
    counts: tuple[int, ...] | None  # of PARTS, where the mode counted
    statistics: tuple[tuple[str, float], ...]
    line: str | None
    differentiates: str | None


def portrait(event: TensorEvent) -> Portrait:
    """All that there is to say of it."""
    return Portrait(
        event.name,
        event.op.type,
        event.layer,
        when(event),
        kind(event),
        state(event),
        event.bad,
        health(event),
        in_words(_first_bad(event)) if event.bad else None,
        counts(event),
        _statistics(event),
        place(event),
        event.op.differentiates,
    )


def when(event: TensorEvent) -> str:
    """step 3, iteration 2"""
    step = f"step {event.step}" if event.step is not None else "no step"
    return f"{step}, iteration {event.iteration}" if event.iteration else step


def kind(event: TensorEvent) -> str:
    """float32 [64, 3]"""
    if event.row is None:
        return "constant" if event.value is not None else ""
    return f"{event.dtype} {list(event.shape)}" if event.shape is not None else str(event.dtype)


def state(event: TensorEvent) -> str:
    """One word, for lists."""
    row = event.row
    if row is None:
        return "?" if event.value is None else "∞" if event.bad else "ok"
    if not row["flags"] & EventFlag.LOOKED:
        return "?"
    if not row["flags"] & EventFlag.BAD:
        return "ok"
    if not row["flags"] & EventFlag.COUNTED:
        return "bad"
    found = [word for name, word in (("nan", "NaN"), ("neg_inf", "−∞"), ("pos_inf", "+∞")) if row[name]]
    return found[0] if found else "bad"


def health(event: TensorEvent) -> str:
    """In words, as findings have it."""
    if event.row is not None:
        return describe_health(event.row, _first_bad(event))
    if event.value is not None:
        flat = event.value.ravel()
        return ", ".join(f"{value:g}" for value in flat[:6]) + (" …" if flat.size > 6 else "")
    return NOT_SEEN


def _first_bad(event: TensorEvent) -> tuple[int, ...] | None:
    shape = event.shape
    if not event.bad or event.row is None or shape is None or not math.prod(shape):
        return None
    flat, index = int(event.row["first_bad"]), []
    for size in reversed(shape):
        index.append(flat % size)
        flat //= size
    return tuple(reversed(index))


def counts(event: TensorEvent) -> tuple[int, ...] | None:
    """Return the count of each of PARTS, if the mode counted them all."""
    if event.row is None or not event.row["flags"] & EventFlag.RANGED:
        return None
    return tuple(int(event.row[name]) for name in PARTS)


def _statistics(event: TensorEvent) -> tuple[tuple[str, float], ...]:
    if event.row is None:
        return ()
    known = ((name, float(event.health[name])) for name in ("min", "max", "mean", "std"))
    return tuple((name, value) for name, value in known if not math.isnan(value))


def place(event: TensorEvent) -> str | None:
    """train.py:18"""
    return f"{os.path.basename(event.op.file)}:{event.op.line}" if event.op.file is not None else None
