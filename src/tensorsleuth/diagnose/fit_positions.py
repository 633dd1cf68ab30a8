"""The epoch and batch of a Keras model that a finding belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.fit_position import FitPosition
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.needs import Need, recorded_parts
from tensorsleuth.trace.process.process import ProcessTrace


def fit_position(process: ProcessTrace, call: int) -> dict[str, Any]:
    """Return the position in a Keras loop at which a call was made, as fields of a finding."""
    batch = batch_of_call(process, call)
    if batch is None:
        return {}
    return {"phase": batch.phase.name.lower(), "epoch": batch.epoch, "batch": batch.batch}


def position_of_step(process: ProcessTrace, step: int | None) -> dict[str, Any]:
    """Return the position in a Keras loop of a training step: that of its first call of a function."""
    if step is None or step < 0 or Need.KERAS_BATCHES not in process.cached(recorded_parts):
        return {}
    calls = process.calls
    mine = calls["call"][(calls["kind"] == CallKind.FUNCTION) & (calls["step"] == np.int64(step))]
    return fit_position(process, int(mine.min())) if len(mine) else {}


def batch_of_call(process: ProcessTrace, call: int) -> FitPosition | None:
    return process.batches.of_call(call) if Need.KERAS_BATCHES in process.cached(recorded_parts) else None
