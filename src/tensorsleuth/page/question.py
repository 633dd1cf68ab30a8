"""A question that can be asked of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorsleuth.page.opened import OpenRun

Parameters = Mapping[str, str]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """Its path after `/api/runs/{run}/`, who answers it, and what it is about."""

    path: str
    find: Callable[[OpenRun, Parameters], Answer]
    what: str

    def answer(self, opened: OpenRun, asked: Parameters) -> Answer:
        """What there is to say; the caller holds `opened.lock`. A question that makes no sense raises Refused."""
        try:
            return self.find(opened, asked)
        finally:
            opened.rest()
