"""Attaches the observers of this process to the current recorder.

If there is none, they share one recorder in memory, since the native library serves one recorder at a time.
"""

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
    """The selection of a recording, widened by the tensors that an observer needs."""

    base: Selection
    observer: Any  # notified of new call sites

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
    """Selects nothing, so that only the tensors of observers are recorded."""

    def mode_for(self, op: str, dtype: int) -> Mode | None:
        return None


class ObserverRegistry:
    """The observers of this process, and their own recorder in memory."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []
        self._folder: MemoryFolder | PrivateFolder | None = None
        self.recorder: Recorder | None = None  # in memory, if there is no other

    def __contains__(self, observer: Observer) -> bool:
        return observer in self._observers

    def add(self, observer: Observer, recorder: Any) -> None:
        """Add an observer to this recorder, or to the one in memory if it is None."""
        self._observers.append(observer)
        try:
            recorder = self._memory_recorder() if recorder is None and observer.needs_recorder else recorder
            if recorder is not None:
                observer.attach(recorder)
        except BaseException:
            self.remove(observer)
            raise

    def remove(self, observer: Observer) -> None:
        """Remove an observer. The last one closes the recorder in memory."""
        if observer in self._observers:
            self._observers.remove(observer)
            observer.detach()
        if not any(other.needs_recorder for other in self._observers):
            self._close_recorder()

    def detach(self) -> None:
        """Detach all observers, because another recorder is about to replace the current one."""
        for observer in self._observers:
            harmless(observer.detach)
        harmless(self._close_recorder)

    def attach(self, recorder: Any) -> None:
        """Attach all observers to this recorder, or to one in memory if it is None."""
        needed = any(observer.needs_recorder for observer in self._observers)
        recorder = harmless(self._memory_recorder) if recorder is None and needed else recorder
        for observer in self._observers if recorder is not None else ():
            harmless(observer.attach, recorder)

    def abandon(self) -> None:
        """Drop everything in a forked child: the memory belongs to the parent."""
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
