"""A question that can be asked of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorsleuth.diagnose.report import CONTRADICTIONS
from tensorsleuth.ui.web.run.errors import Contradiction

if TYPE_CHECKING:
    from tensorsleuth.ui.web.run.open_run import OpenRun

_NEXT = "Ask for something else of it; SLEUTH_DEBUG=1 shows where."
Parameters = Mapping[str, str]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """Its path after `/api/runs/{run}/`, who answers it, and what it is about."""

    path: str
    find: Callable[[OpenRun, Parameters], Answer]
    what: str

    def answer(self, opened: OpenRun, asked: Parameters) -> Answer:
        """Return the answer; the caller holds `opened.lock`. A question that makes no sense raises Refused."""
        try:
            return self.find(opened, asked)
        except CONTRADICTIONS as error:
            if os.environ.get("SLEUTH_DEBUG"):
                raise
            raise Contradiction(f"The trace contradicts itself ({error!r}).".replace("\n", " "), _NEXT) from error
        finally:
            opened.rest()
