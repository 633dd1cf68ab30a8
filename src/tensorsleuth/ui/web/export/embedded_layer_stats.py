"""The layer statistics in an exported page: the latest sample, of the first example in the batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorsleuth.ui.web.export.local_client import LocalClient

MAX_ATTENTIONS = 24
MAX_PICTURE_BYTES = 1_500_000  # the rest of the page needs room, too
PICTURES_SHARE = 3  # pictures may use one part in this many of the room


def embed_layer_stats(local_client: LocalClient) -> None:
    """Request the addresses that the page uses, layers first, which are small."""
    local_client("inside")
    first = local_client("layers")
    for kind in first.get("kinds", []):
        local_client("layers", kind=kind)
    items = local_client("attention").get("items", [])[:MAX_ATTENTIONS]
    until = local_client.room - min(MAX_PICTURE_BYTES, local_client.room // PICTURES_SHARE)
    for path, asked in _pictures(items):
        if local_client.room <= until:
            break
        local_client(path, **asked)


def _pictures(items: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the screens of each attention layer and head, the first heads of all layers first."""
    for head in range(max((item["shown"] for item in items), default=0)):
        for item in items:
            path, look = f"attention/{item['id']}", {"step": item["steps"][-1], "sample": 0}
            if head == 0:
                yield f"{path}/heads", {}
                yield f"{path}/thumbs", look
            if head < item["shown"]:
                yield f"{path}/weights", {**look, "head": head}
