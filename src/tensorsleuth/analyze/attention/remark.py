"""A remark on an attention layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ERROR, NOTE = "error", "note"


@dataclass(frozen=True)
class AttentionRemark:
    """A remark: the subject, the heads, the numbers."""

    what: str  # nan-rows, collapsed, …: docs/transformers.md
    severity: str  # error: it is wrong; note: worth attention
    layer: str  # the name of the attention layer
    heads: tuple[int, ...]
    head_count: int  # number of heads in the layer
    words: str  # the rest of the sentence that begins with `who`
    step: int | None  # the step of the sample
    evidence: Mapping[str, float] = field(default_factory=dict)
    file: str | None = None
    line: int | None = None

    @property
    def head(self) -> int | None:
        """The head, if the remark is about one of several."""
        return self.heads[0] if len(self.heads) == 1 and self.head_count > 1 else None

    @property
    def who(self) -> str:
        """The subject, such as `head 2`, `heads 0, 1 and 5`, `both heads` or `all 8 heads`."""
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
        """Return the fields of `sleuth attention --json`."""
        names = ("what", "severity", "layer", "head", "words", "step", "file", "line")
        return {name: getattr(self, name) for name in names} | {"heads": [*self.heads], "evidence": {**self.evidence}}
