"""Has a probe stand behind what is looked at inside of the model, also where a recording does not look."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import LookInGraph, Placed, Selection
from tensorsleuth.recording.observers import ObserverSelection


@dataclass(frozen=True)
class InsideSelection(ObserverSelection):
    """The selection `base`, widened by layer statistics, which add no rows to the recording."""

    def look(self, op: str, dtype: int) -> Mode | None:
        return self.base.look(op, dtype)

    def again(self) -> Selection:
        return self.base.again()

    def in_eager(self, op: str, first: int, outputs: int) -> None:
        self.base.in_eager(op, first, outputs)

    def refused(self, function: str, why: str) -> None:
        self.base.refused(function, why)

    @property
    def times(self) -> bool:
        return self.base.times

    def in_instance(self, placed: Placed) -> Selection:
        return _InInstance(self.settings, self.base.in_instance(placed), self.observer.placed(placed))


@dataclass(frozen=True)
class _InInstance(Selection):
    """The selection in a function at one call site."""

    base: Selection
    sources: frozenset[str]

    @property
    def times(self) -> bool:
        return self.base.times

    def has_probe(self, source: str) -> bool:
        return source in self.sources or self.base.has_probe(source)

    def in_function(self, definition: Definition) -> LookInGraph:
        return self.base.in_function(definition)
