"""Who watches along with whatever recorder there is (break points, expectations, watches), and what they ride on where
nobody records: one recorder in memory, for all of them, since the native library serves one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import LookInGraph, Selection
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.settings import Settings, make_settings
from tensorsleuth.trace.storage.memory_folder import MemoryFolder, PrivateFolder, memory_folder
from tensorsleuth.trace.storage.size_plan import memory_plan


class Rider(Protocol):
    """Watches along with whatever recorder there is."""

    alone: bool  # does it need a recorder where nobody else does

    def leave(self) -> None:
        """The recorder is about to be another."""

    def settle(self, recorder: Any) -> None:
        """It is this one now."""


@dataclass(frozen=True)
class RiderSelection(Selection):
    """What a recording looks at, and what a rider asks for beyond it."""

    base: Selection
    rider: Any  # is told of the places

    def in_eager(self, op: str, first: int, outputs: int) -> None:
        self.base.in_eager(op, first, outputs)
        self.rider.placed_eager(op, first, outputs)

    def refused(self, function: str, why: str) -> None:
        self.base.refused(function, why)
        self.rider.refused(function, why)

    def in_function(self, definition: Definition) -> LookInGraph:
        return self.base.in_function(definition)


@dataclass(frozen=True)
class Nothing(Selection):
    """Looks at nothing: riders add what they need."""

    def look(self, op: str, dtype: int) -> Mode | None:
        return None


class Riders:
    """The riders of this process, and the recorder in memory that they have where there is no other."""

    def __init__(self) -> None:
        self._riders: list[Rider] = []
        self._folder: MemoryFolder | PrivateFolder | None = None
        self.recorder: Recorder | None = None  # the one in memory

    def __contains__(self, rider: Rider) -> bool:
        return rider in self._riders

    def add(self, rider: Rider, recorder: Any) -> None:
        """One more, on this recorder; on the one in memory where that is None."""
        self._riders.append(rider)
        try:
            recorder = self._own() if recorder is None and rider.alone else recorder
            if recorder is not None:
                rider.settle(recorder)
        except BaseException:
            self.remove(rider)
            raise

    def remove(self, rider: Rider) -> None:
        """One less; what they had in memory goes with the last."""
        if rider in self._riders:
            self._riders.remove(rider)
            rider.leave()
        if not any(other.alone for other in self._riders):
            self._give_up()

    def leave(self) -> None:
        """The recorder is about to be another."""
        for rider in self._riders:
            harmless(rider.leave)
        harmless(self._give_up)

    def settle(self, recorder: Any) -> None:
        """It is this one now; None where nobody else watches."""
        alone = any(rider.alone for rider in self._riders)
        recorder = harmless(self._own) if recorder is None and alone else recorder
        for rider in self._riders if recorder is not None else ():
            harmless(rider.settle, recorder)

    def abandon(self) -> None:
        """In a forked child: the memory is the parent's."""
        if self.recorder is not None:
            self.recorder.abandon()
        self._riders, self.recorder, self._folder = [], None, None

    def _own(self) -> Recorder:
        if self.recorder is None:
            settings = Settings("", Mode.NO_TENSOR, probe=make_settings(".").probe)
            self._folder = memory_folder()
            self.recorder = Recorder(self._folder, settings, Nothing(settings), memory_plan())
        return self.recorder

    def _give_up(self) -> None:
        recorder, self.recorder = self.recorder, None
        folder, self._folder = self._folder, None
        if recorder is not None and folder is not None:
            recorder.close()
            folder.close()
