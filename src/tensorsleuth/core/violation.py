"""A broken expectation: of a tensor in the program, or of data before it goes in."""

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
    """In the place of a value: words about it, shown as they are."""


@dataclass(frozen=True)
class Violation:
    """A broken expectation: expected, the number of broken elements, the first of them, the place and the fix."""

    rule: str  # what was asked: dtype, shape, finite, between…
    name: str  # of the tensor, or the feature of a data set
    expected: str  # follows "expected": `values between 0 and 1`
    found: str  # what was there instead: `up to 255`
    broken: int | None = None  # how many elements; None where it is about the whole
    total: int | None = None
    positions: tuple[tuple[int, ...], ...] = ()  # the first few, with a value each
    values: tuple[Any, ...] = ()
    change: str | None = None  # what to do about it
    severity: str = "error"  # or "warning": looks wrong, need not be; "note": good to know
    file: str | None = None
    line: int | None = None
    where: str | None = None  # which part of the data: `validation`, `element 12`; of a graph, which iteration
    code: str | None = None  # the text of that line
    function: str | None = None  # that the line is in
    other: str | None = None  # a second place that has to do with it, as file:line: where a dimension got its size
    step: int | None = None  # the training step, where a recording was under way
    clock: int | None = None  # when, by the clock of the trace's rows
    times: int = 1  # how often it has been broken at this place, this time included

    @property
    def place(self) -> str:
        """`train.py:12`, the name of the file only; empty where no line is known."""
        return f"{os.path.basename(self.file)}:{self.line}" if self.file else ""

    @property
    def message(self) -> str:
        """All of it, for people: a sentence, then the line that asked for it, then what to change."""
        at = f"\n  {self.file}:{self.line}" + (f"\n    {self.code}" if self.code else "") if self.file else ""
        return f"{self.sentence}.{at}" + (f"\n  {self.change}" if self.change else "")

    @property
    def amount(self) -> str:
        """`3 of 784`, where elements were counted."""
        if self.broken is None:
            return ""
        return f"{self.broken:,} of {self.total:,}" if self.total is not None else f"{self.broken:,}"

    @property
    def first(self) -> str:
        """`[3, 4] 255, [3, 7] 254, …`: the first few positions and values."""
        pairs = [
            f"{format_position(at)} {format_value(value)}".strip() for at, value in zip(self.positions, self.values)
        ][:MAX_SHOWN_VALUES]
        more = (self.broken or 0) > len(pairs) or len(self.positions) > MAX_SHOWN_VALUES
        return ", ".join([*pairs, *(["…"] if pairs and more else [])])

    @property
    def sentence(self) -> str:
        """All of it but what to change."""
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
    """[3, 4]; nothing for a single value."""
    return f"[{', '.join(str(int(place)) for place in position)}]" if len(position) else ""


def format_value(value: Any) -> str:
    """A value as people write it, short."""
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
    """A value as JSON has it; what JSON has no word for, as text."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return _special_name(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


_SPECIAL_VALUES = {"NaN": math.nan, "∞": math.inf, "−∞": -math.inf}


def _special_name(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "−∞"
