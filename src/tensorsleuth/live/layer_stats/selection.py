"""Adds probes for the tensors that layer statistics need, even if the recording does not need them."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import FunctionInstance, GraphModes, Selection
from tensorsleuth.recording.observers import ObserverSelection


@dataclass(frozen=True)
class LayerStatsSelection(ObserverSelection):
    """The selection `base`, widened by layer statistics, which add no rows to the recording."""

    def mode_for(self, op: str, dtype: int) -> Mode | None:
        return self.base.mode_for(op, dtype)

    def for_replay(self) -> Selection:
        return self.base.for_replay()

    def note_eager_site(self, op: str, first: int, outputs: int) -> None:
        self.base.note_eager_site(op, first, outputs)

    def note_refused(self, function: str, why: str) -> None:
        self.base.note_refused(function, why)

    @property
    def notes_op_ends(self) -> bool:
        return self.base.notes_op_ends

    def for_instance(self, function_instance: FunctionInstance) -> Selection:
        return _LayerStatsInInstance(
            self.settings, self.base.for_instance(function_instance), self.observer.placed(function_instance)
        )


@dataclass(frozen=True)
class _LayerStatsInInstance(Selection):
    """The selection in a function at one call site."""

    base: Selection
    sources: frozenset[str]

    @property
    def notes_op_ends(self) -> bool:
        return self.base.notes_op_ends

    def has_probe(self, source: str) -> bool:
        return source in self.sources or self.base.has_probe(source)

    def for_function(self, definition: Definition) -> GraphModes:
        return self.base.for_function(definition)
