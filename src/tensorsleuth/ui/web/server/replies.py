"""Replies: JSON without NaN, one shape of error, files of the page; each with an ETag."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tensorsleuth.core.errors import SleuthError

REVALIDATE = "private, no-cache"  # it may be kept, but is asked about each time: the ETag makes that cheap
CACHE_FOREVER = "private, max-age=31536000, immutable"  # its name has a hash of what is in it

_MARK = r"\\u(?:00[0189][0-9a-f]|007f|061c|200[ef]|202[a-e]|206[6-9])"
_SUSPECT = re.compile(_MARK)  # begins with plain letters, which are searched for far faster
_DECEITFUL = re.compile(rf"(?<!\\)((?:\\\\)*){_MARK}")


def encode_json(value: object) -> bytes:
    """JSON as browsers read it: a NaN is a mistake of ours and fails here; half a character is written as an escape.

    Controls, and marks that turn the direction of writing, are replaced: a name must not look like another.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return (_DECEITFUL.sub(r"\1\\ufffd", text) if _SUSPECT.search(text) else text).encode("ascii")


def reply(request: Request, body: bytes, kind: str = "application/json", cache: str = REVALIDATE) -> Response:
    """The body, or nothing where the browser has it already."""
    tag = f'W/"{blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"etag": tag, "cache-control": cache}
    known = [part.strip() for part in request.headers.get("if-none-match", "").split(",")]
    if tag in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=kind, headers=headers)


def uncached_reply(body: bytes) -> Response:
    """Return a reply that must not be cached."""
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})


def error_reply(status: int, what: str, next_step: str | None, **headers: str) -> Response:
    """The one shape of every answer that is none."""
    body: dict[str, Any] = {"error": {"what": what, "next": next_step}}
    return Response(encode_json(body), status, {"cache-control": "no-store", **headers}, "application/json")


def reply_for_error(error: SleuthError) -> Response:
    """An error that is meant for people, with the status that it asks for."""
    status = getattr(error, "status", 400)
    return error_reply(status, getattr(error, "what", str(error)), getattr(error, "next", None))
