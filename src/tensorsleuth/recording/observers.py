"""Keeps the observers of this process on whatever recorder there is, and on one of their own where
nobody records: one recorder in memory, for all of them, since the native library serves one at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import GraphModes, Selection
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import Observer
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.settings import Settings, make_settings
from tensorsleuth.trace.storage.memory_folder import MemoryFolder, PrivateFolder, memory_folder
from tensorsleuth.trace.storage.size_plan import memory_plan


@dataclass(frozen=True)
class ObserverSelection(Selection):
    """The selection of a recording, widened by the tensors that an observer asks for."""

    base: Selection
    observer: Any  # is told of the places

    def note_eager_site(self, op: str, first: int, outputs: int) -> None:
        self.base.note_eager_site(op, first, outputs)
        self.observer.placed_eager(op, first, outputs)

    def note_refused(self, function: str, why: str) -> None:
        self.base.note_refused(function, why)
        self.observer.refused(function, why)

    def for_function(self, definition: Definition) -> GraphModes:
        return self.base.for_function(definition)


@dataclass(frozen=True)
class EmptySelection(Selection):
    """Looks at nothing: observers add what they need."""

    def mode_for(self, op: str, dtype: int) -> Mode | None:
        return None


class ObserverRegistry:
    """The observers of this process, and the recorder in memory that they have where there is no other."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []
        self._folder: MemoryFolder | PrivateFolder | None = None
        self.recorder: Recorder | None = None  # the one in memory

    def __contains__(self, observer: Observer) -> bool:
        return observer in self._observers

    def add(self, observer: Observer, recorder: Any) -> None:
        """One more, on this recorder; on the one in memory where that is None."""
        self._observers.append(observer)
        try:
            recorder = self._memory_recorder() if recorder is None and observer.needs_recorder else recorder
            if recorder is not None:
                observer.attach(recorder)
        except BaseException:
            self.remove(observer)
            raise

    def remove(self, observer: Observer) -> None:
        """One less; what they had in memory goes with the last."""
        if observer in self._observers:
            self._observers.remove(observer)
            observer.detach()
        if not any(other.needs_recorder for other in self._observers):
            self._close_recorder()

    def detach(self) -> None:
        """The recorder is about to be another."""
        for observer in self._observers:
            harmless(observer.detach)
        harmless(self._close_recorder)

    def attach(self, recorder: Any) -> None:
        """It is this one now; None where nobody else watches."""
        needed = any(observer.needs_recorder for observer in self._observers)
        recorder = harmless(self._memory_recorder) if recorder is None and needed else recorder
        for observer in self._observers if recorder is not None else ():
            harmless(observer.attach, recorder)

    def abandon(self) -> None:
        """In a forked child: the memory is the parent's."""
        if self.recorder is not None:
            self.recorder.abandon()
        self._observers, self.recorder, self._folder = [], None, None

    def _memory_recorder(self) -> Recorder:
        if self.recorder is None:
            settings = Settings("", Mode.NO_TENSOR, probe=make_settings(".").probe)
            self._folder = memory_folder()
            self.recorder = Recorder(self._folder, settings, EmptySelection(settings), memory_plan())
        return self.recorder

    def _close_recorder(self) -> None:
        recorder, self.recorder = self.recorder, None
        folder, self._folder = self._folder, None
        if recorder is not None and folder is not None:
            recorder.close()
            folder.close()


@dataclass
class ModelObserver(Observer):
    """Stands for an observer that a program without a model does not need: made when the program shows a model."""

    make: Callable[[], Observer]
    _made: Observer | None = field(default=None, compare=False)

    def attach(self, recorder: Recorder) -> None:
        recorder.when_model_met(lambda: self._observer().attach(recorder))

    def detach(self) -> None:
        if self._made is not None:
            self._made.detach()

    def _observer(self) -> Observer:
        self._made = self.make()
        return self._made
