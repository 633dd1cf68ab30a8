"""A placeholder that a run of a session needs and does not feed: its name in the program, and the line of the run."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.exits.failure import UNFED, FatalError
from tensorsleuth.diagnose.expressions import walk_source
from tensorsleuth.trace.process.process import ProcessTrace


@dataclass(frozen=True)
class UnfedPlaceholder:
    """The placeholder, by the program's name if its line has one, and the lines of both."""

    name: str
    frame: Frame | None  # that made it
    run: Frame

    def sentence(self, error: str) -> str:
        made = f", the placeholder of {self.frame.file}:{self.frame.line}" if self.frame is not None else ""
        return f"{self.run.file}:{self.run.line} does not feed {self.name}{made}, and fetches what needs it ({error})"

    @property
    def fix(self) -> str:
        return f"add {self.name} to the feed_dict of this run, or fetch nothing that depends on it"

    @classmethod
    def of_error(cls, process: ProcessTrace, error: FatalError) -> UnfedPlaceholder | None:
        """Return what an error is about; None if it is about something else, or the line of the run is not known."""
        op = process.catalogue.eager.get(error.failure.op)
        site = process.catalogue.sites.get(op.site) if op is not None else None
        if error.kind.words != UNFED or site is None or site.frame is None:
            return None
        frame = error.site.frame if error.site is not None else None
        return cls(_assigned_name(process, frame) or f"'{error.name}'", frame, site.frame)


def _assigned_name(process: ProcessTrace, frame: Frame | None) -> str | None:
    """Return the variable or attribute that a line assigns to, if it assigns to one."""
    if frame is None:
        return None
    found = [
        ast.unparse(node.targets[0])
        for node in walk_source(process.catalogue.sources.get(frame.file, ""))
        if isinstance(node, ast.Assign)
        and node.lineno <= frame.line <= (node.end_lineno or 0)
        and isinstance(node.value, ast.Call)
        and isinstance(node.targets[0], ast.Name | ast.Attribute)
    ]
    return found[0] if len(found) == 1 else None
