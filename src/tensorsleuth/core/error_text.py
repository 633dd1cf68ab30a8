"""The messages of TensorFlow's errors: names of nodes and functions stand in front of what they say."""

from __future__ import annotations

import re

MARKS = re.compile(r"\{\{(function_node|node) [^}]*\}\}\s*")
LONGEST = 200  # letters of a message that is told beside something else


def first_line(message: str) -> str:
    """Return the first line of a message, without its marks."""
    lines = MARKS.sub("", message).strip().splitlines()
    return lines[0].strip()[:LONGEST] if lines else ""
