"""The page's ids of tensors and ops: "process.number"."""

from __future__ import annotations

import re

from tensorsleuth.trace.query.ops import Op
from tensorsleuth.ui.web.run.errors import BadRequest

_ID = re.compile(r"(\d{1,9})\.(\d{1,15})", re.ASCII)


def make_id(process: int, number: int) -> str:
    return f"{process}.{number}"


def op_id(op: Op) -> str:
    """Return the id of an op: the id of its first output. An op without outputs (a write) adds its number."""
    if op.first_tensor < 0:
        return "?"
    own = "" if op.outputs else f"n{op.node}" if op.node >= 0 else f"e{op.eager}"
    return f"{op.process}.{op.first_tensor}{own}"


def parse_id(text: str, what: str) -> tuple[int, int]:
    """Return the process and the number of an id in a request."""
    found = _ID.fullmatch(text)
    if found is None:
        raise BadRequest(f"{text[:40]!r} is not the id of {what}.", "Ids look like 0.1841. Take one from a list.")
    return int(found[1]), int(found[2])
