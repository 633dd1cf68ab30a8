"""The recording of a callback: begins or joins a recording, checks it for harm, and ends it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorsleuth.core.finding import Basis, Diagnosis, Finding
from tensorsleuth.diagnose.report import diagnose
from tensorsleuth.recording import api
from tensorsleuth.trace.reader import Trace


class FitRecording:
    """One fit, watched through its own recording or through one that already runs."""

    def __init__(self, begin: Callable[[], api.Recording]) -> None:
        joined = api.active_recording()
        self.recording = joined or begin()
        self.is_owner = joined is None
        self.run: Path | None = self.recording.path
        recorder = self.recording.recorder
        self._first_call = recorder.sink.next_call() if recorder is not None else 0
        self._next_diagnosis = 0
        self._was_sure = False
        self._diagnosed_tensors = 0  # the number of tensors at the last check
        self.diagnosis: Diagnosis | None = None  # the last diagnosis, while it holds

    @property
    def _recorder(self) -> Any:
        return self.recording.recorder

    @property
    def tensors(self) -> int:
        """Return the number of tensors recorded so far."""
        return self._recorder.sink.events() if self._recorder is not None else 0

    @property
    def alarm(self) -> bool:
        """Return whether a bad value was recorded, which costs a look at one number."""
        return self._recorder is not None and self._recorder.sink.alarm() > 0

    def set_recording(self, wanted: bool) -> None:
        """Turn recording on or off. A recording of somebody else continues."""
        if self.is_owner and self._recorder is not None:
            self._recorder.resume() if wanted else self._recorder.pause()

    def count_unseen_step(self) -> None:
        """Count a step that trained without being recorded."""
        if self.is_owner and self._recorder is not None:
            self._recorder.steps.note_unrecorded_step()

    def harmful_findings(self, batch: int, sure: bool) -> list[Finding]:
        """Return harmful bad values of this fit. Harmless ones make further checks rarer, unless `sure`."""
        if not self.alarm or (batch < self._next_diagnosis and not (sure and not self._was_sure)):
            return []
        self._was_sure |= sure
        self._next_diagnosis = 2 * batch
        return [one for one in self.findings() if one.basis is Basis.BAD_VALUE]

    def findings(self) -> list[Finding]:
        """Return all harmful findings since this fit began."""
        if self.run is None:
            return []
        if self.diagnosis is None or self._diagnosed_tensors != self.tensors:
            self._diagnosed_tensors = self.tensors
            self.diagnosis = diagnose(Trace(self.run))
        return [one for one in self.diagnosis.findings if one.call is None or one.call >= self._first_call]

    def verdict(self) -> str:
        """`problem`, `healthy` or `unknown`, as the fit's own findings say."""
        if self.findings():
            return "problem"
        is_unclear = self.diagnosis is None or self.diagnosis.verdict == "unknown"
        return "unknown" if is_unclear else "healthy"

    def end(self) -> None:
        """End the recording after the fit, however it ended."""
        if self.is_owner:
            self.recording.close()
