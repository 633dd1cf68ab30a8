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
    answer: Callable[[OpenRun, Parameters], Answer]
    what: str
