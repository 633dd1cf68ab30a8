"""The layer statistics in an exported page: the latest sample of steps, of the first sample of the batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorsleuth.ui.web.export.local_client import Asking

ATTENTIONS = 24
MOST_PICTURES = 1_500_000  # bytes: the rest of the page needs room, too
SHARE = 3  # of the room that there is, at most one part in so many


def take_inside(asking: Asking) -> None:
    """Under the very addresses that the page asks: layers first, which are small."""
    asking("inside")
    first = asking("layers")
    for kind in first.get("kinds", []):
        asking("layers", kind=kind)
    items = asking("attention").get("items", [])[:ATTENTIONS]
    until = asking.room - min(MOST_PICTURES, asking.room // SHARE)
    for path, asked in _pictures(items):
        if asking.room <= until:
            break
        asking(path, **asked)


def _pictures(items: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the screens of each attention and head; the first heads of all come first."""
    for head in range(max((item["shown"] for item in items), default=0)):
        for item in items:
            path, look = f"attention/{item['id']}", {"step": item["steps"][-1], "sample": 0}
            if head == 0:
                yield f"{path}/heads", {}
                yield f"{path}/thumbs", look
            if head < item["shown"]:
                yield f"{path}/weights", {**look, "head": head}
