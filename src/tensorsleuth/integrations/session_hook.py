"""`SleuthHook`: records a MonitoredSession, or an Estimator's train or evaluate."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import tensorflow as tf

from tensorsleuth.core.finding import Basis, Finding
from tensorsleuth.core.modes import DEFAULT_MODE, Mode
from tensorsleuth.integrations.session_recording import SessionRecording, print_verdict
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.settings import DtypeFilter

RunFilter = Collection[int] | Callable[[int], bool] | None


class SleuthHook(tf.compat.v1.train.SessionRunHook):
    """Records what a session runs, from its creation to its end. It works beside other hooks.

    Args:
        logdir, mode, circular_buffer_size, op_regex, tensor_dtypes: as in `tensorsleuth.record`.
        steps: the runs of the session to record, counted from 0: a range, a set, or a function of the number.
        stop_on_nan: if a bad value does harm, print why and ask the session to stop.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        mode: str | Mode = DEFAULT_MODE,
        circular_buffer_size: int | None = None,
        op_regex: str | None = None,
        tensor_dtypes: DtypeFilter = None,
        run_filter: RunFilter = None,
        stop_on_nan: bool = False,
    ) -> None:
        buffer: dict[str, Any] = {"circular_buffer_size": circular_buffer_size}
        self._recording = SessionRecording(logdir, mode=mode, op_regex=op_regex, tensor_dtypes=tensor_dtypes, **buffer)
        self._steps = run_filter
        self._stop_on_nan = stop_on_nan
        self._count = 0
        self.findings: tuple[Finding, ...] = ()  # of the run that was stopped

    @property
    def run(self) -> Path | None:
        """The folder of the latest recording, to pass to `sleuth why`."""
        return self._recording.run

    def begin(self) -> None:
        """Start recording."""
        self._count = 0
        self._recording.begin()

    def before_run(self, run_context: Any) -> None:
        """Turn recording on or off for the next run."""
        self._recording.set_recording(self._is_wanted(self._count))
        self._count += 1

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Check for bad values, if they are to stop the session."""
        if self._stop_on_nan and harmless(self._print_harm):
            run_context.request_stop()

    def end(self, session: Any) -> None:
        """End the recording."""
        self._recording.end()

    def close(self) -> None:
        """End the recording of a session that ended with an error. Such a session calls no hook."""
        self._recording.end()

    def _is_wanted(self, number: int) -> bool:
        if self._steps is None:
            return True
        return bool(self._steps(number)) if callable(self._steps) else number in self._steps

    def _print_harm(self) -> bool:
        diagnosis = self._recording.diagnosis() if self._recording.went_bad() else None
        if diagnosis is None or all(one.basis is not Basis.BAD_VALUE for one in diagnosis.findings):
            return False
        self.findings = diagnosis.findings
        print_verdict(diagnosis)
        return True
