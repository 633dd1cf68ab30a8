"""A question that can be asked of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorsleuth.diagnose.report import CONTRADICTION_ERRORS
from tensorsleuth.ui.web.run.errors import DamagedTrace

if TYPE_CHECKING:
    from tensorsleuth.ui.web.run.open_run import OpenRun

_DAMAGED_HINT = "Ask for something else of it; SLEUTH_DEBUG=1 shows where."
Parameters = Mapping[str, str]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """Its path after `/api/runs/{run}/`, who answers it, and what it is about."""

    path: str
    find: Callable[[OpenRun, Parameters], Answer]
    description: str

    def answer(self, opened: OpenRun, asked: Parameters) -> Answer:
        """Return the answer; the caller holds `opened.lock`. A question that makes no sense raises Refused."""
        try:
            return self.find(opened, asked)
        except CONTRADICTION_ERRORS as error:
            if os.environ.get("SLEUTH_DEBUG"):
                raise
            raise DamagedTrace(
                f"The trace contradicts itself ({error!r}).".replace("\n", " "), _DAMAGED_HINT
            ) from error
        finally:
            opened.release_memory()
