"""Inputs that are far from the size that first weights are made for: pixels of 0 … 255, raw amounts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.nan.fed_data import BYTE_MAX
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line, text_evidence
from tensorsleuth.diagnose.training.optimizer import losses_of
from tensorsleuth.diagnose.training.samples.batch_inputs import BatchInput, BatchInputs
from tensorsleuth.trace.process.process import ProcessTrace

MIN_LARGEST = 50.0  # of a typical batch; first weights are made for numbers of about 1, whose largest is about 4
FEWEST_BATCHES, FEWEST_STEPS, PART_COUNT = 2, 20, 10
MIN_FALL = 0.9  # of the first tenth of the losses: with more in the last, nothing was learned


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    large = [one for one in process.cached(BatchInputs).features if _is_large(one)]
    losses = list(losses_of(process.cached(TrainingGraph)).values()) if large else []
    yield from merge_same_line(_finding(one, losses) for one in large)


RULE = Rule(
    id="unscaled-inputs",
    severity=Severity.WRONG,
    find=find,
    about_samples=True,
    supersedes=(
        "chance-loss",
        "predictions-collapsed",
    ),
)


def _is_large(one: BatchInput) -> bool:
    return len(one.numbers) >= FEWEST_BATCHES and float(np.median(one.numbers.largest)) >= MIN_LARGEST


def _learns(losses: list[Array]) -> bool:
    """Return whether a loss fell, or there are too few steps to tell."""
    known = [one for one in losses if len(one) >= FEWEST_STEPS and np.isfinite(one).all()]
    parts = [np.array_split(one.astype(np.float64), PART_COUNT) for one in known]
    return not parts or any(np.median(part[-1]) < MIN_FALL * np.median(part[0]) for part in parts)


def _finding(one: BatchInput, losses: list[Array]) -> RuleFinding:
    low, high = float(one.numbers.min.min()), float(one.numbers.max.max())
    fails = not _learns(losses)
    why = (
        f"multiplies weights with inputs of {low:.4g} … {high:.4g}: first weights and learning rates are made for "
        "inputs of about 1, so outputs and gradients are as many times larger"
    )
    if fails:
        why += f", and the loss did not fall in {max(map(len, losses)):,} steps"
    evidence = (text_evidence("also", "inputs", f"{low:.4g} … {high:.4g} in {len(one.numbers):,} batches"),)
    return RuleFinding(
        confidence=0.8 if fails else 0.6,
        why=why,
        fix=_SCALE_PIXELS if low >= 0 and high <= BYTE_MAX else _SCALE_COLUMNS,
        frame=one.frame,
        op=one.consumer.type,
        evidence=evidence,
        severity=Severity.WRONG if fails else Severity.NOTE,
    )


_SCALE_PIXELS = "scale them first: keras.layers.Rescaling(1 / 255), or x / 255"
_SCALE_COLUMNS = (
    "scale them first: (x - mean) / std of each column, with the mean and deviation of the training data, or a Keras "
    "Normalization layer that is adapted to it"
)
