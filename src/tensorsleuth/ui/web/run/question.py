"""A question that the page can ask of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorsleuth.diagnose.report import CONTRADICTION_ERRORS
from tensorsleuth.ui.web.run.errors import DamagedTrace

if TYPE_CHECKING:
    from tensorsleuth.ui.web.run.open_run import OpenRun

_DAMAGED_HINT = "Look at another part of the run. SLEUTH_DEBUG=1 shows where it failed."
Parameters = Mapping[str, str]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """A path after `/api/runs/{run}/`, the function that answers it, and its subject."""

    path: str
    find: Callable[[OpenRun, Parameters], Answer]
    description: str

    def answer(self, opened: OpenRun, asked: Parameters) -> Answer:
        """Return the answer; the caller holds `opened.lock`. An invalid question raises a RequestError."""
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
