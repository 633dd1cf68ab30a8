"""A broken expectation of a tensor in the program, or of data before training."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

OnViolation = Literal["raise", "warn", "record"]
MAX_SHOWN_VALUES = 3  # positions and values in a sentence
_NUMBER_FIELDS = ("broken", "total", "line", "step", "clock", "times")
_TEXT_FIELDS = ("change", "severity", "file", "where", "code", "function", "other")


class ValueNote(str):
    """Words about a value, in its place; they are shown unchanged."""


@dataclass(frozen=True)
class Violation:
    """A broken expectation: expected, the number of broken elements, the first of them, the place and the fix."""

    rule: str  # the kind of expectation: dtype, shape, finite, between…
    name: str  # of the tensor, or the feature of a data set
    expected: str  # follows "expected": `values between 0 and 1`
    found: str  # the actual state: `up to 255`
    broken: int | None = None  # number of broken elements; None if the tensor as a whole is meant
    total: int | None = None
    positions: tuple[tuple[int, ...], ...] = ()  # of the first few, with a value each
    values: tuple[Any, ...] = ()
    change: str | None = None  # how to fix it
    severity: str = "error"  # or "warning": looks wrong, but may be intended; "note": good to know
    file: str | None = None
    line: int | None = None
    where: str | None = None  # the part of the data: `validation`, `element 12`; in a graph, the iteration
    code: str | None = None  # the text of the line
    function: str | None = None  # the function that contains the line
    other: str | None = None  # a second related place as file:line, for example where a dimension got its size
    step: int | None = None  # the training step, during a recording
    clock: int | None = None  # the time on the clock of the trace's rows
    times: int = 1  # how often the place broke it, including this time

    @property
    def place(self) -> str:
        """`train.py:12`, with the file name only; empty if the line is unknown."""
        return f"{os.path.basename(self.file)}:{self.line}" if self.file else ""

    @property
    def message(self) -> str:
        """The whole text for people: a sentence, the line with the expectation, and the fix."""
        at = f"\n  {self.file}:{self.line}" + (f"\n    {self.code}" if self.code else "") if self.file else ""
        return f"{self.sentence}.{at}" + (f"\n  {self.change}" if self.change else "")

    @property
    def amount(self) -> str:
        """A text such as `3 of 784`, if elements were counted."""
        if self.broken is None:
            return ""
        return f"{self.broken:,} of {self.total:,}" if self.total is not None else f"{self.broken:,}"

    @property
    def first(self) -> str:
        """The first few positions and values: `[3, 4] 255, [3, 7] 254, …`."""
        pairs = [
            f"{format_position(at)} {format_value(value)}".strip() for at, value in zip(self.positions, self.values)
        ][:MAX_SHOWN_VALUES]
        more = (self.broken or 0) > len(pairs) or len(self.positions) > MAX_SHOWN_VALUES
        return ", ".join([*pairs, *(["…"] if pairs and more else [])])

    @property
    def sentence(self) -> str:
        """The whole text but the fix."""
        place = f" ({self.where})" if self.where else ""
        amount = f"{self.amount}: " if self.amount else ""
        first = f"; first at {self.first}" if self.first else ""
        return f"{self.name}{place}: expected {self.expected}, found {amount}{self.found}{first}"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file else ""
        return f"{place}{self.sentence}." + (f" {self.change}" if self.change else "")

    @staticmethod
    def from_json(described: dict[str, Any]) -> Violation:
        """Return the violation that `to_json` wrote; raise ValueError, TypeError or KeyError for anything else."""
        known = {field.name for field in fields(Violation)}
        kept = {name: value for name, value in described.items() if name in known}
        kept["positions"] = tuple(tuple(int(one) for one in at) for at in described.get("positions", ()))
        kept["values"] = tuple(_SPECIAL_VALUES.get(value, value) for value in described.get("values", ()))
        for names, kind in ((_NUMBER_FIELDS, int), (_TEXT_FIELDS, str)):
            kept |= {name: kind(kept[name]) for name in names if kept.get(name) is not None}
        texts = {name: str(described[name]) for name in ("rule", "name", "expected", "found")}
        return Violation(**kept | texts)

    def to_json(self) -> dict[str, Any]:
        described = asdict(self)
        described["positions"] = [list(position) for position in self.positions]
        described["values"] = [json_value(value) for value in self.values]
        return described


def format_position(position: Sequence[int]) -> str:
    """Return a text such as `[3, 4]`, or nothing for a single value."""
    return f"[{', '.join(str(int(place)) for place in position)}]" if len(position) else ""


def format_value(value: Any) -> str:
    """Return a value as a short text."""
    if isinstance(value, (float,)) or (hasattr(value, "dtype") and getattr(value.dtype, "kind", "") == "f"):
        number = float(value)
        return _special_name(number) if not math.isfinite(number) else f"{number:.6g}"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, ValueNote):
        return str(value)
    text = repr(value) if isinstance(value, str) else "" if value is None else str(value)
    return text if len(text) <= 32 else f"{text[:31]}…"


def json_value(value: Any) -> Any:
    """Return a value as JSON can hold it, or as text."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return _special_name(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


_SPECIAL_VALUES = {"NaN": math.nan, "∞": math.inf, "−∞": -math.inf}


def _special_name(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "−∞"
