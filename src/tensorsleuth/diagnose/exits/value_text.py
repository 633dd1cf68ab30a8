"""The text recorded for a value that has no row: `int32 [2], 1 … 5`."""

from __future__ import annotations

import re

_VALUE_TEXT = re.compile(r"(?P<dtype>\w+) \[(?P<shape>(?:\d+(?:, ?)?)*)\](?:, (?P<rest>.*))?", re.DOTALL)


def parse_value_text(text: str) -> tuple[str, tuple[int, ...] | None, str]:
    """Its dtype, its shape, and what is said of its values; all of it as words where it is something else."""
    found = _VALUE_TEXT.fullmatch(text)
    if found is None:
        return "", None, text
    shape = tuple(int(size) for size in re.findall(r"\d+", found["shape"]))
    return found["dtype"], shape, found["rest"] or ""
