"""The recording of a callback: begins or joins it, asks whether anything went wrong, ends it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorsleuth.core.finding import Basis, Diagnosis, Finding
from tensorsleuth.diagnose.report import diagnose
from tensorsleuth.recording import api
from tensorsleuth.trace.reader import Trace


class FitRecording:
    """One fit, watched through a recording of its own, or through the one that is under way."""

    def __init__(self, begin: Callable[[], api.Recording]) -> None:
        joined = api.active_recording()
        self.recording = joined or begin()
        self.is_owner = joined is None
        self.run: Path | None = self.recording.path
        recorder = self.recording.recorder
        self._first_call = recorder.sink.next_call() if recorder is not None else 0
        self._next_diagnosis = 0
        self._was_sure = False
        self._diagnosed_tensors = 0  # tensors that there were at the last look
        self.diagnosis: Diagnosis | None = None  # the last, while it holds

    @property
    def _recorder(self) -> Any:
        return self.recording.recorder

    @property
    def tensors(self) -> int:
        """Return the number of tensors recorded so far."""
        return self._recorder.sink.events() if self._recorder is not None else 0

    @property
    def alarm(self) -> bool:
        """Has anything bad been seen: a look at one number."""
        return self._recorder is not None and self._recorder.sink.alarm() > 0

    def set_recording(self, wanted: bool) -> None:
        """Record what comes, or let it pass; a recording of somebody else goes on."""
        if self.is_owner and self._recorder is not None:
            self._recorder.resume() if wanted else self._recorder.pause()

    def count_unseen_step(self) -> None:
        """A step trained unseen."""
        if self.is_owner and self._recorder is not None:
            self._recorder.steps.note_unrecorded_step()

    def harmful_findings(self, batch: int, sure: bool) -> list[Finding]:
        """Bad values that did harm in this fit. Those that did none make it look ever more rarely; again if `sure`."""
        if not self.alarm or (batch < self._next_diagnosis and not (sure and not self._was_sure)):
            return []
        self._was_sure |= sure
        self._next_diagnosis = 2 * batch
        return [one for one in self.findings() if one.basis is Basis.BAD_VALUE]

    def findings(self) -> list[Finding]:
        """All that did harm since this fit began."""
        if self.run is None:
            return []
        if self.diagnosis is None or self._diagnosed_tensors != self.tensors:
            self._diagnosed_tensors = self.tensors
            self.diagnosis = diagnose(Trace(self.run))
        return [one for one in self.diagnosis.findings if one.call is None or one.call >= self._first_call]

    def end(self) -> None:
        """The fit is over, in whatever way."""
        if self.is_owner:
            self.recording.close()
