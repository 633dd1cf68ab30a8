"""Has those tensors looked at, closely enough, that break points ask about."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorsleuth.core.modes import Mode
from tensorsleuth.live.breakpoints.evaluator import NOT_GUARDS
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import LookInGraph, Placed, Selection
from tensorsleuth.recording.observers import ObserverSelection


@dataclass(frozen=True)
class BreakSelection(ObserverSelection):
    """The selection of a recording, widened by the tensors of break points."""

    def look(self, op: str, dtype: int) -> Mode | None:
        return _closer(self.base.look(op, dtype), self.observer.look_at_eager(op, dtype))

    def in_instance(self, placed: Placed) -> Selection:
        base = self.base.in_instance(placed)
        if placed.of_dataset:
            self.observer.of_dataset(range(placed.first, placed.first + placed.definition.tensors))
        recorded = base.in_function(placed.definition)
        looks: dict[str, Mode] = {}
        for tensor, source, dtype, subject in self.observer.subjects.of(placed):
            conditions, need = self.observer.asked(subject, dtype)
            if conditions:
                own = recorded(subject.type, dtype, source) is None
                self.observer.put(placed.first + tensor, conditions | (NOT_GUARDS if own else 0))
                looks[source] = need
        return _InInstance(self.settings, base, looks)


@dataclass(frozen=True)
class _InInstance(Selection):
    """The selection in a function at one call site."""

    base: Selection
    looks: dict[str, Mode] = field(default_factory=dict)

    def in_function(self, definition: Definition) -> LookInGraph:
        recorded = self.base.in_function(definition)
        return lambda op, dtype, name: _closer(recorded(op, dtype, name), self.looks.get(name))


def _closer(one: Mode | None, other: Mode | None) -> Mode | None:
    looks = [look for look in (one, other) if look is not None]
    return max(looks, default=None)
