"""Attaches the guard's judge to the active recording, or to the guard's own recording in memory."""

from __future__ import annotations

import os
import threading

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.modes import Mode
from tensorsleuth.live.guard.judge import GuardJudge
from tensorsleuth.live.guard.selection import GuardSelection, guard_settings
from tensorsleuth.recording.functions.probes import Selection, selection_for
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.settings import Settings, make_settings
from tensorsleuth.trace.storage.memory_folder import MemoryFolder, PrivateFolder, memory_folder
from tensorsleuth.trace.storage.size_plan import memory_plan


class GuardRecorder:
    """The recorder that the guard uses. It changes when recordings begin and end."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._lock = threading.RLock()
        self._folder: MemoryFolder | PrivateFolder | None = None  # of the guard's own recording
        self._settings = guard_settings(make_settings(".").probe)
        self._judge: GuardJudge | None = None
        self.recorder: Recorder | None = None

    def selection(self, settings: Settings) -> Selection:
        return GuardSelection(settings, selection_for(settings), self._strict)

    def join(self, recorder: Recorder) -> None:
        if recorder.settings.mode < Mode.CURT_HEALTH and not isinstance(recorder.selection, GuardSelection):
            raise SleuthError(
                f"The active recording stores no values (mode {recorder.settings.mode.name}), so the guard would see "
                "nothing. Start the guard before the recording, or record with CURT_HEALTH or more."
            )
        self._watch(recorder)

    def stand_alone(self) -> None:
        with self._lock:
            self._folder = memory_folder()
            selection = GuardSelection(self._settings, None, self._strict)
            self._watch(Recorder(self._folder, self._settings, selection, memory_plan()))

    def _watch(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._judge = GuardJudge(recorder, self._strict)
        self._judge.attach(recorder)

    def stand_back(self) -> None:
        """Stop watching, and delete the guard's own recording."""
        with self._lock:
            recorder, self.recorder = self.recorder, None
            folder, self._folder = self._folder, None
            if recorder is not None and folder is not None:
                recorder.close()
                folder.close()
            elif self._judge is not None:
                self._judge.detach()
            self._judge = None

    def abandon(self) -> None:
        """Drop the recording in a forked child without writing to its memory, which the parent shares."""
        if self.recorder is not None and self._folder is not None:
            self.recorder.abandon()
        self.recorder = self._folder = None


def abandon_in_child(guard_recorder: GuardRecorder) -> None:
    os.register_at_fork(after_in_child=guard_recorder.abandon)
