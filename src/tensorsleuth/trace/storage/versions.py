"""Traces that another version of tensorsleuth wrote: who wrote them, who reads, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorsleuth.core.version import VERSION


def written_by_another(folder: str, meta: dict[str, Any], seen: Sequence[str]) -> str:
    """One sentence for all files of a process; `seen` is what differs."""
    writer = _writer(meta.get("tensorsleuth"))
    return (
        f"{folder} was written by {writer}, and this is {VERSION}, which reads other rows "
        f"({'; '.join(seen)}). Read it with the version that wrote it, or record the program again"
    )


def _writer(said: object) -> str:
    if not isinstance(said, str):
        return "another version of tensorsleuth, which does not say its number"
    return f"another build of tensorsleuth {VERSION}" if said == VERSION else f"tensorsleuth {said[:40]}"
