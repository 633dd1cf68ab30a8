"""The messages of TensorFlow's errors, which begin with marks that name nodes and functions."""

from __future__ import annotations

import re

NODE_MARKS = re.compile(r"\{\{(function_node|node) [^}]*\}\}\s*")
MAX_LINE_LENGTH = 200  # letters of a message that is part of another text


def first_line(message: str) -> str:
    """Return the first line of a message, without its marks."""
    lines = NODE_MARKS.sub("", message).strip().splitlines()
    return lines[0].strip()[:MAX_LINE_LENGTH] if lines else ""
