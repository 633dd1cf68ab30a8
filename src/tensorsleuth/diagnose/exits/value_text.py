"""The text recorded for a value that has no row: `int32 [2], 1 … 5`."""

from __future__ import annotations

import re

_VALUE_TEXT = re.compile(r"(?P<dtype>\w+) \[(?P<shape>(?:\d+(?:, ?)?)*)\](?:, (?P<rest>.*))?", re.DOTALL)


def parse_value_text(text: str) -> tuple[str, tuple[int, ...] | None, str]:
    """Return the dtype, the shape and the rest of the text; all of it as rest if it has another form."""
    found = _VALUE_TEXT.fullmatch(text)
    if found is None:
        return "", None, text
    shape = tuple(int(size) for size in re.findall(r"\d+", found["shape"]))
    return found["dtype"], shape, found["rest"] or ""
