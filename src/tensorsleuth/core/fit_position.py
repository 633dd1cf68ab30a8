"""The position in `fit`, `evaluate` or `predict` of a Keras model."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Phase(IntEnum):
    """The loop of Keras that was running."""

    NONE = 0
    TRAIN = 1
    EVALUATE = 2
    PREDICT = 3


@dataclass(frozen=True, slots=True)
class FitPosition:
    """A batch, counted as callbacks count: epochs from 0, batches from 0 in each epoch. None before the first."""

    phase: Phase
    epoch: int | None = None
    batch: int | None = None

    def __str__(self) -> str:
        """Return a text such as `epoch 2, batch 17` or `predict, batch 3`."""
        phase = self.phase.name.lower() if self.phase is not Phase.TRAIN else None
        epoch = f"epoch {self.epoch}" if self.epoch is not None else None
        batch = f"batch {self.batch}" if self.batch is not None else None
        return ", ".join(part for part in (phase, epoch, batch) if part)
