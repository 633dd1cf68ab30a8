"""One remarkable thing about an attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ERROR, NOTE = "error", "note"


@dataclass(frozen=True)
class AttentionRemark:
    """A remark: what is noteworthy, in which heads, by which numbers."""

    what: str  # nan-rows, collapsed, …: docs/transformers.md
    severity: str  # error: it is wrong; note: worth a look
    layer: str  # the name of the attention
    heads: tuple[int, ...]
    head_count: int  # how many heads it has
    words: str  # the rest of the sentence that begins with `who`
    step: int | None  # when it was seen
    evidence: Mapping[str, float] = field(default_factory=dict)
    file: str | None = None
    line: int | None = None

    @property
    def head(self) -> int | None:
        """The head, where it is one of several."""
        return self.heads[0] if len(self.heads) == 1 and self.head_count > 1 else None

    @property
    def who(self) -> str:
        """head 2, heads 0, 1 and 5, both heads, all 8 heads"""
        if len(self.heads) == self.head_count:
            return {1: "its head", 2: "both heads"}.get(self.head_count, f"all {self.head_count} heads")
        if len(self.heads) > 6:
            return f"{len(self.heads)} of {self.head_count} heads"
        *others, last = map(str, self.heads)
        return f"heads {', '.join(others)} and {last}" if others else f"head {last}"

    @property
    def sentence(self) -> str:
        return f"{self.layer}, {self.who}: {self.words}"

    def to_json(self) -> dict[str, Any]:
        """As `sleuth attention --json` prints it."""
        names = ("what", "severity", "layer", "head", "words", "step", "file", "line")
        return {name: getattr(self, name) for name in names} | {"heads": [*self.heads], "evidence": {**self.evidence}}
