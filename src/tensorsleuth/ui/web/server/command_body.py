"""A command in the body of a request: `{"command": "pt [0, :]", "columns": 100}`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.requests import Request

from tensorsleuth.ui.web.run.errors import BadQuestion

LONGEST = 20_000  # bytes of a body
COLUMNS = 100
EXAMPLE = 'Send {"command": "where"}.'


@dataclass(frozen=True)
class Commanded:
    """A line for the debugger, and how wide its answer may be."""

    line: str
    columns: int = COLUMNS


async def commanded(request: Request) -> Commanded:
    """Read it; never more than a little."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST:
            raise BadQuestion(f"The command has more than {LONGEST:,} bytes.", EXAMPLE)
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        asked = None
    line = asked.get("command") if isinstance(asked, dict) else None
    if not isinstance(line, str):
        raise BadQuestion("The body has no command.", EXAMPLE)
    columns = asked.get("columns", COLUMNS)
    return Commanded(line, columns if isinstance(columns, int) else COLUMNS)
