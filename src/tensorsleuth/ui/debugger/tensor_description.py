"""The description of a tensor for the list, the details and the graph."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.diagnose.health_words import describe_health, describe_index
from tensorsleuth.trace.query.tensor_event import TensorEvent

VALUE_KINDS = ("neg", "zero", "pos", "neg_inf", "pos_inf", "nan")
NOT_SEEN = "not recorded: fused into another op, or without an output"


@dataclass(frozen=True)
class TensorDescription:
    """The description of one tensor."""

    name: str
    op: str
    layer: str | None
    when: str
    kind: str  # float32 [64, 3]
    state: str  # one word: ok, NaN, −∞, +∞, ∞, ?
    bad: bool
    health: str
    first_bad: str | None  # row 10, column 1
    counts: tuple[int, ...] | None  # of PARTS, if the mode counted
    statistics: tuple[tuple[str, float], ...]
    line: str | None
    differentiates: str | None


def describe_tensor(event: TensorEvent) -> TensorDescription:
    """Return the description of a tensor."""
    return TensorDescription(
        event.name,
        event.op.type,
        event.layer,
        step_words(event),
        type_words(event),
        health_word(event),
        event.bad,
        tensor_health(event),
        describe_index(_first_bad(event)) if event.bad else None,
        value_counts(event),
        _statistics(event),
        short_line(event),
        event.op.differentiates,
    )


def step_words(event: TensorEvent) -> str:
    """Return a text such as `step 3, iteration 2`."""
    step = f"step {event.step}" if event.step is not None else "no step"
    return f"{step}, iteration {event.iteration}" if event.iteration else step


def type_words(event: TensorEvent) -> str:
    """Return a text such as `float32 [64, 3]`."""
    if event.row is None:
        return "constant" if event.value is not None else ""
    return f"{event.dtype} {list(event.shape)}" if event.shape is not None else str(event.dtype)


def health_word(event: TensorEvent) -> str:
    """Return the health as one word, for lists."""
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


def tensor_health(event: TensorEvent) -> str:
    """Return the health in words, as findings have it."""
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


def value_counts(event: TensorEvent) -> tuple[int, ...] | None:
    """Return the count of each of PARTS, if the mode counted them all."""
    if event.row is None or not event.row["flags"] & EventFlag.RANGED:
        return None
    return tuple(int(event.row[name]) for name in VALUE_KINDS)


def _statistics(event: TensorEvent) -> tuple[tuple[str, float], ...]:
    if event.row is None:
        return ()
    known = ((name, float(event.health[name])) for name in ("min", "max", "mean", "std"))
    return tuple((name, value) for name, value in known if not math.isnan(value))


def short_line(event: TensorEvent) -> str | None:
    """Return a text such as `train.py:18`."""
    return f"{os.path.basename(event.op.file)}:{event.op.line}" if event.op.file is not None else None
