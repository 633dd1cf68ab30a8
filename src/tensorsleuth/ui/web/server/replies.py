"""Replies: JSON without NaN, one format for errors, files of the page, each with an ETag."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tensorsleuth.core.errors import SleuthError

REVALIDATE = "private, no-cache"  # a browser may keep it, but must ask each time: the ETag makes that cheap
CACHE_FOREVER = "private, max-age=31536000, immutable"  # the name contains a hash of the content

_MARK = r"\\u(?:00[0189][0-9a-f]|007f|061c|200[ef]|202[a-e]|206[6-9])"
_SUSPECT = re.compile(_MARK)  # begins with plain letters, which are found much faster
_DECEITFUL = re.compile(rf"(?<!\\)((?:\\\\)*){_MARK}")


def encode_json(value: object) -> bytes:
    """Return JSON for browsers. A NaN is a bug and fails here; half a surrogate pair is written as an escape.

    Control characters and marks that turn the direction of writing are replaced, so that a name cannot imitate another.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return (_DECEITFUL.sub(r"\1\\ufffd", text) if _SUSPECT.search(text) else text).encode("ascii")


def reply(request: Request, body: bytes, kind: str = "application/json", cache: str = REVALIDATE) -> Response:
    """Return the body, or nothing if the browser has it already."""
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
    """Return an error in the one format of all errors."""
    body: dict[str, Any] = {"error": {"what": what, "next": next_step}}
    return Response(encode_json(body), status, {"cache-control": "no-store", **headers}, "application/json")


def reply_for_error(error: SleuthError) -> Response:
    """Return an error that is meant for people, with its own status."""
    status = getattr(error, "status", 400)
    return error_reply(status, getattr(error, "what", str(error)), getattr(error, "next", None))
