"""A recording for the lifetime of a session, with checks while it runs."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.diagnose.report import diagnose
from tensorsleuth.recording.api import Recording, is_recording, record
from tensorsleuth.trace.reader import Trace
from tensorsleuth.ui.terminal import console
from tensorsleuth.ui.terminal.verdict import verdict


class SessionRecording:
    """Starts a recording, or joins one that already runs and does not end that one."""

    def __init__(self, logdir: str | os.PathLike[str] | None, **settings: Any) -> None:
        self._logdir = logdir
        self._settings = settings
        self._recording: Recording | None = None
        self._is_owner = False
        self._bad_before = 0  # bad rows before the run
        self._max_bad_in_run = 0  # most bad rows of one run so far

    @property
    def run(self) -> Path | None:
        """Return the folder of the recording."""
        return self._recording.path if self._recording is not None else None

    def begin(self) -> None:
        self._is_owner = not is_recording()
        self._recording = record(self._logdir, **self._settings)
        self._bad_before = self._recording.bad_rows()
        self._max_bad_in_run = 0

    def end(self) -> None:
        if self._recording is not None:
            self._recording.pause_sessions(False)
            if self._is_owner:
                self._recording.close()

    def set_recording(self, wanted: bool) -> None:
        """Turn recording on or off for the next runs of sessions."""
        if self._recording is not None:
            self._recording.pause_sessions(not wanted)

    def unseen(self) -> AbstractContextManager[None]:
        """Run ops of filters, which are not the program's."""
        recorder = self._recording.recorder if self._recording is not None else None
        return recorder.unseen() if recorder is not None else nullcontext()

    def went_bad(self) -> bool:
        """Return whether this run had more bad values than any before: masked infinities recur in each run."""
        if self._recording is None:
            return False
        seen = self._recording.bad_rows()
        fresh, self._bad_before = seen - self._bad_before, seen
        worse, self._max_bad_in_run = fresh > self._max_bad_in_run, max(fresh, self._max_bad_in_run)
        return worse

    def trace(self) -> Trace | None:
        """Return the trace so far."""
        return Trace(self.run) if self.run is not None else None

    def diagnosis(self) -> Diagnosis | None:
        trace = self.trace()
        return diagnose(trace) if trace is not None else None


def print_verdict(diagnosis: Diagnosis) -> None:
    """Print a verdict on stderr."""
    console.show_on_stderr(verdict(diagnosis))
