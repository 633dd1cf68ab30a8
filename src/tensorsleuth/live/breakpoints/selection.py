"""Selects the tensors that break points need, in the mode that they need."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorsleuth.core.modes import Mode
from tensorsleuth.live.breakpoints.evaluator import NOT_FOR_GUARD
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import FunctionInstance, GraphModes, Selection
from tensorsleuth.recording.observers import ObserverSelection


@dataclass(frozen=True)
class BreakSelection(ObserverSelection):
    """The selection of a recording, widened by the tensors of break points."""

    def mode_for(self, op: str, dtype: int) -> Mode | None:
        return _closer(self.base.mode_for(op, dtype), self.observer.look_at_eager(op, dtype))

    def for_instance(self, function_instance: FunctionInstance) -> Selection:
        base = self.base.for_instance(function_instance)
        if function_instance.of_dataset:
            self.observer.of_dataset(
                range(function_instance.first, function_instance.first + function_instance.definition.tensors)
            )
        recorded = base.for_function(function_instance.definition)
        looks: dict[str, Mode] = {}
        for tensor, source, dtype, subject in self.observer.subjects.roles_in(function_instance):
            conditions, need = self.observer.asked(subject, dtype)
            if conditions:
                own = recorded(subject.type, dtype, source) is None
                self.observer.put(function_instance.first + tensor, conditions | (NOT_FOR_GUARD if own else 0))
                looks[source] = need
        return _BreaksInInstance(self.settings, base, looks)


@dataclass(frozen=True)
class _BreaksInInstance(Selection):
    """The selection in a function at one call site."""

    base: Selection
    looks: dict[str, Mode] = field(default_factory=dict)

    def for_function(self, definition: Definition) -> GraphModes:
        recorded = self.base.for_function(definition)
        return lambda op, dtype, name: _closer(recorded(op, dtype, name), self.looks.get(name))


def _closer(one: Mode | None, other: Mode | None) -> Mode | None:
    looks = [look for look in (one, other) if look is not None]
    return max(looks, default=None)
