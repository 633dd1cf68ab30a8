"""A callback for `fit`, `evaluate` and `predict`, for Keras 3, tf-keras and the Keras in TensorFlow 2.15."""

from __future__ import annotations

import math
import os
import sys
import weakref
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tensorsleuth.core.finding import Finding
from tensorsleuth.core.modes import DEFAULT_MODE, Mode
from tensorsleuth.integrations.fit_filter import FitFilter, NumberFilter
from tensorsleuth.integrations.fit_recording import FitRecording
from tensorsleuth.recording import api
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.keras import internals as keras
from tensorsleuth.recording.settings import DtypeFilter, make_settings
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import keras_progress


class SleuthCallback:
    """Records a Keras loop from begin to end. The problems found are in `findings` and `verdict`.

    Args:
        logdir, mode, circular_buffer_size, op_regex, tensor_dtypes: as in `tensorsleuth.record`. If a recording already
        runs (`sleuth run`), the callback joins it. Then these have no effect, nor do `epochs` and `batches`.
        epochs: the epochs of a fit to record, counted from 0: a number, a range, a set, or a function of a number.
        batches: the batches of each epoch to record, given in the same way.
        stop_on_nan: stop training when a bad value does harm, and print the verdict.
        verbose: print a line after each epoch; by default, if `fit` itself is verbose.
    """

    _chief_worker_only = None
    _supports_tf_logs = True  # Keras 2 need not convert logs to numbers for this callback

    def __new__(cls, *args: Any, **kwargs: Any) -> SleuthCallback:
        kind: type[SleuthCallback] = _callback_class(cls, keras.callback_classes())  # type: ignore[arg-type]
        return super().__new__(kind)

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        mode: str | Mode = DEFAULT_MODE,
        circular_buffer_size: int | None = None,
        op_regex: str | None = None,
        tensor_dtypes: DtypeFilter = None,
        *,
        epochs: NumberFilter = None,
        batches: NumberFilter = None,
        stop_on_nan: bool = False,
        verbose: bool | None = None,
    ) -> None:
        self._settings = (logdir, mode, circular_buffer_size, op_regex, tensor_dtypes)
        make_settings(run_folder.logdir(os.fspath(logdir) if logdir is not None else None), *self._settings[1:])
        self._fit_filter = FitFilter(epochs, batches)
        self._stop_on_nan = stop_on_nan
        self._verbose = verbose
        self._model: Any = None
        self.params: Any = None
        self.validation_data = None
        self._recording: FitRecording | None = None
        self._depth = 0  # loops in progress: `evaluate` in `fit` is the second
        self._end_of_loop: Any = None
        self._epoch: int | None = None
        self._tensors_before_epoch = 0  # when the epoch began
        self._batches = 0  # of this fit
        self._records_batch = True  # whether the current batch is recorded
        self._line: str | None = None  # printed after the progress bar has ended its line
        self._stopped: list[Finding] = []

    # ---- for the user

    @property
    def run(self) -> Path | None:
        """The folder of the run, or None before the first loop or if it could not be made."""
        return self._recording.run if self._recording is not None else None

    @property
    def findings(self) -> list[Finding]:
        """The harmful findings of the last loop, worst first; during a loop, those so far."""
        return self._recording.findings() if self._recording is not None else []

    @property
    def verdict(self) -> str:
        """`problem`, `healthy`, or `unknown`: nothing was recorded, or too little to tell (`sleuth why` says what)."""
        if self._recording is None or self._recording.run is None:
            return "unknown"
        return self._recording.verdict()

    # ---- called by Keras

    @property
    def model(self) -> Any:
        return self._model

    def set_model(self, model: Any) -> None:
        self._model = model

    def set_params(self, params: Any) -> None:
        self.params = params

    def on_train_begin(self, logs: Any = None) -> None:
        self._batches, self._stopped, self._line = 0, [], None
        self._depth = 0  # an earlier fit may have raised
        self._begin()
        if self._recording is not None and not self._fit_filter.records_all:
            self._recording.set_recording(False)

    def on_train_end(self, logs: Any = None) -> None:
        self._print_line()
        self._end()
        if self._stopped:
            harmless(
                keras_progress.show_stop_reason,
                self._recording.diagnosis if self._recording is not None else None,
                self._stopped,
            )

    def on_test_begin(self, logs: Any = None) -> None:
        self._begin()

    def on_test_end(self, logs: Any = None) -> None:
        self._end()

    def on_predict_begin(self, logs: Any = None) -> None:
        self._begin()

    def on_predict_end(self, logs: Any = None) -> None:
        self._end()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._print_line()
        self._epoch = epoch
        self._tensors_before_epoch = self._recording.tensors if self._recording is not None else 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._recording is not None and self._is_verbose:
            count = self._recording.tensors - self._tensors_before_epoch
            self._line = keras_progress.epoch_line(epoch, count, self._recording.alarm, self._stopped)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self._recording is not None and not self._fit_filter.records_all:
            self._records_batch = self._fit_filter.includes(
                self._epoch, batch, batch + keras.batches_at_once(self._model) - 1
            )
            self._recording.set_recording(self._records_batch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._batches += 1
        if self._recording is not None:
            harmless(self._check_for_harm, self._recording, logs or {})

    # ---- implementation

    def _check_for_harm(self, watch: FitRecording, logs: Mapping[str, Any]) -> None:
        if not self._records_batch and not getattr(self._model, "run_eagerly", False):
            watch.count_unseen_step()
        if self._stop_on_nan and not self._stopped and watch.alarm:
            self._stopped = watch.harmful_findings(self._batches, sure=not math.isfinite(float(logs.get("loss", 0.0))))
            if self._stopped:
                self._model.stop_training = True

    def _begin(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._end_recording()
            self._records_batch = True
            self._recording = harmless(FitRecording, lambda: api.record(*self._settings))
            around = keras.callback_list_around(sys._getframe(2), self)
            if around is not None:  # ends together with its loop, even if that raises
                self._end_of_loop = weakref.finalize(around, _end_failed_loop, weakref.ref(self))

    def _end(self) -> None:
        self._depth -= 1
        if self._depth <= 0:
            self._end_recording()

    def _end_recording(self) -> None:
        if self._end_of_loop is not None:
            self._end_of_loop.detach()
        if self._recording is not None:
            harmless(self._recording.end)

    def _print_line(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            harmless(keras_progress.print_beside_bar, line)

    @property
    def _is_verbose(self) -> bool:
        return self._verbose if self._verbose is not None else bool((self.params or {}).get("verbose"))

    # Keras 2 calls the batch hooks only if these return True.

    def _implements_train_batch_hooks(self) -> bool:
        return self._stop_on_nan or not self._fit_filter.records_all

    def _implements_test_batch_hooks(self) -> bool:
        return False

    def _implements_predict_batch_hooks(self) -> bool:
        return False


def _end_failed_loop(callback: weakref.ref[SleuthCallback]) -> None:
    """End the recording of a loop that raised: Keras drops it without calling a hook."""
    one = callback()
    if one is not None:
        one._depth = 0
        one._end_recording()


@cache
def _callback_class(cls: type[SleuthCallback], bases: tuple[type, ...]) -> type[SleuthCallback]:
    """Return the class as a callback of each Keras that is loaded."""
    missing = tuple(base for base in bases if not issubclass(cls, base))
    return type(cls.__name__, (cls, *missing), {"__doc__": cls.__doc__, "__module__": cls.__module__})
