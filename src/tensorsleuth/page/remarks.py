"""What is remarkable about heads of attention, in words: judged by `insight`, shown in one place of the page."""

from __future__ import annotations

from typing import Any

from tensorsleuth.trace.inside import Inside


def remarks(inside: Inside) -> list[dict[str, Any]]:
    """Remarks of inside.ts, the worst first."""
    return []
