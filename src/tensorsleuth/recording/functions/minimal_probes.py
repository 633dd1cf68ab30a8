"""Selections for the mode FLIGHT while no value is bad: just enough to notice the first bad one."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import GraphModes, Selection


def minimal_selection(selection: Selection) -> Selection:
    """Return the few tensors to check in a replayable function."""
    return MinimalSelection(selection.settings)


@dataclass(frozen=True)
class MinimalSelection(Selection):
    """Selects only tensors that leave a function inside of something else. Python checks results and variables."""

    writes: bool = False  # also select what is written to variables

    @property
    def notes_op_ends(self) -> bool:
        return False

    def for_function(self, definition: Definition) -> GraphModes:
        leaving = {definition.resolve(text) for text in self._leaving(definition)}

        def look(op: str, dtype: int, name: str) -> Mode | None:
            return self.mode_for(op, dtype) and Mode.CURT_HEALTH if name in leaving else None

        return look

    def _leaving(self, definition: Definition) -> list[str]:
        nodes = (node for node in definition.proto.node_def if self._takes_away(node.op))
        return [text for node in nodes for text in node.input if not text.startswith("^")]

    def _takes_away(self, op: str) -> bool:
        return op in ops.OPAQUE_WRAPPERS or (self.writes and ops.writes_variables(op))
