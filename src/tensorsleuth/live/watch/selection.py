"""Has those tensors looked at that are watched, beyond what a recording looks at anyway."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import LookInGraph, Placed, Selection
from tensorsleuth.recording.observers import ObserverSelection


@dataclass(frozen=True)
class WatchSelection(ObserverSelection):
    """The selection `base`, widened by watched tensors. The probe decides in which steps to measure."""

    def look(self, op: str, dtype: int) -> Mode | None:
        look = self.base.look(op, dtype)
        return Mode.NO_TENSOR if look is None and self.observer.wants_eager(op, dtype) else look

    def again(self) -> Selection:
        return self.base.again()

    def in_instance(self, placed: Placed) -> Selection:
        base = self.base.in_instance(placed)
        recorded = base.in_function(placed.definition)
        added: set[str] = set()
        for tensor, source, dtype, subject in self.observer.subjects.of(placed):
            own = recorded(subject.type, dtype, source) is None
            if self.observer.placed(placed.first + tensor, source, subject, dtype, own) and own:
                added.add(source)
        return _InInstance(self.settings, base, added)


@dataclass(frozen=True)
class _InInstance(Selection):
    """The selection in a function at one call site."""

    base: Selection
    added: set[str] = field(default_factory=set)

    def in_function(self, definition: Definition) -> LookInGraph:
        recorded = self.base.in_function(definition)

        def look(op: str, dtype: int, name: str) -> Mode | None:
            found = recorded(op, dtype, name)
            return Mode.NO_TENSOR if found is None and name in self.added else found

        return look
