"""Adds the watched tensors to the selection of a recording."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import FunctionInstance, GraphModes, Selection
from tensorsleuth.recording.observers import ObserverSelection


@dataclass(frozen=True)
class WatchSelection(ObserverSelection):
    """The selection `base`, widened by watched tensors. The probe decides in which steps to measure."""

    def mode_for(self, op: str, dtype: int) -> Mode | None:
        look = self.base.mode_for(op, dtype)
        return Mode.NO_TENSOR if look is None and self.observer.wants_eager(op, dtype) else look

    def for_replay(self) -> Selection:
        return self.base.for_replay()

    def for_instance(self, function_instance: FunctionInstance) -> Selection:
        base = self.base.for_instance(function_instance)
        recorded = base.for_function(function_instance.definition)
        added: set[str] = set()
        for tensor, source, dtype, subject in self.observer.subjects.roles_in(function_instance):
            own = recorded(subject.type, dtype, source) is None
            if self.observer.placed(function_instance.first + tensor, source, subject, dtype, own) and own:
                added.add(source)
        return _WatchesInInstance(self.settings, base, added)


@dataclass(frozen=True)
class _WatchesInInstance(Selection):
    """The selection in a function at one call site."""

    base: Selection
    added: set[str] = field(default_factory=set)

    def for_function(self, definition: Definition) -> GraphModes:
        recorded = self.base.for_function(definition)

        def look(op: str, dtype: int, name: str) -> Mode | None:
            found = recorded(op, dtype, name)
            return Mode.NO_TENSOR if found is None and name in self.added else found

        return look
