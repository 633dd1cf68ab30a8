"""The messages of TensorFlow's errors, which begin with marks that name nodes and functions."""

from __future__ import annotations

import re

NODE_MARKS = re.compile(r"\{\{(function_node|node) [^}]*\}\}\s*")
MAX_LINE_LENGTH = 200  # letters of a message that is part of another text


def first_line(message: str) -> str:
    """Return the first line of a message, without its marks."""
    lines = NODE_MARKS.sub("", message).strip().splitlines()
    return lines[0].strip()[:MAX_LINE_LENGTH] if lines else ""


_DTYPES = re.compile(
    r"was expected to be an? \w+ tensor but is an? \w+ tensor|Op has type \w+ that does not match|have types \[|"
    r"conversion requested dtype|has DataType \w+ not in list of allowed|is not in the list of allowed values|"
    r"to EagerTensor of dtype|[Ee]xpected \w+ passed to parameter|must (be of|have) the same (d?type|data type)|"
    r"Could not find device for node: \{\{node"
)


def is_about_dtypes(message: str) -> bool:
    """Return whether an error says that dtypes do not fit, and not shapes."""
    return _DTYPES.search(message) is not None
