"""A command in the body of a request: `{"command": "pt [0, :]", "columns": 100}`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.requests import Request

from tensorsleuth.ui.web.run.errors import BadRequest

MAX_BODY_BYTES = 20_000  # of a request
DEFAULT_COLUMNS = 100
EXAMPLE = 'Send {"command": "where"}.'


@dataclass(frozen=True)
class CommandBody:
    """A line for the debugger, and the width of its answer."""

    line: str
    columns: int = DEFAULT_COLUMNS


async def read_command(request: Request) -> CommandBody:
    """Read a command from a request, up to a small size."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise BadRequest(f"The command has more than {MAX_BODY_BYTES:,} bytes.", EXAMPLE)
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        asked = None
    line = asked.get("command") if isinstance(asked, dict) else None
    if not isinstance(line, str):
        raise BadRequest("The body has no command.", EXAMPLE)
    columns = asked.get("columns", DEFAULT_COLUMNS)
    return CommandBody(line, columns if isinstance(columns, int) else DEFAULT_COLUMNS)
