"""The distance by which steps move weights: from samples of updates, and from what each step reads."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.training.loops import TrainingLoops
from tensorsleuth.diagnose.training.optimizer import update_norms
from tensorsleuth.diagnose.training.weight_reads import WeightReads
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

MAX_UPDATE_RATIO = 1e-6  # of the weights, by each sampled step
MAX_CHANGE = 1e-5  # of the largest weight of all, from the first read to any other


def weights_stay(process: ProcessTrace) -> bool:
    """Return whether no step moves the weights by more than a millionth; False if that was not seen."""
    keep = weights_keep_range(process)
    pace = update_norms(process.cached(LayerStatistics))
    if keep is False or pace is None or len(pace.steps) < 2:
        return keep is True
    return bool((np.nan_to_num(pace.update_ratio, nan=1.0) <= MAX_UPDATE_RATIO).all())


def weights_keep_range(process: ProcessTrace) -> bool | None:
    """Return whether the smallest and the largest of all weights stay where they are; None if that was not seen.

    Samples of updates alone do not show it, for gradients may be gathered over steps.
    """
    reads = process.cached(WeightReads)
    handles = {handle for loop in process.cached(TrainingLoops).all for handle in loop.variables}
    seen = [rows for handle in handles if (rows := reads.of(handle)) is not None and len(rows) > 1]
    if not seen:
        return None
    largest = max(float(max(abs(rows["min"][0]), abs(rows["max"][0]))) for rows in seen)
    return all(_change(rows) <= MAX_CHANGE * largest for rows in seen)


def _change(rows: Array) -> float:
    return max(float(np.abs(rows[name] - rows[name][0]).max()) for name in ("min", "max"))
