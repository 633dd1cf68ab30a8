"""Checks that features declared as centred have a mean near 0."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorsleuth.core.modes import Mode
from tensorsleuth.core.violation import Violation, format_value
from tensorsleuth.data.block import Piece
from tensorsleuth.data.check import FeatureCheck
from tensorsleuth.data.feature import Feature
from tensorsleuth.native.row_health import health_of_rows

MAX_CENTRED_MEAN = 0.1  # of the standard deviation


class RunningMoments:
    """Count, mean and sum of squared deviations, combined block by block."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def add(self, count: int, mean: float, std: float) -> None:
        if count:
            everything, apart = self.count + count, mean - self.mean
            self.squares += std * std * count + apart * apart * (self.count * count / everything)
            self.mean += apart * count / everything
            self.count = everything

    @property
    def std(self) -> float:
        return math.sqrt(self.squares / self.count) if self.count else 0.0

    @property
    def near_zero(self) -> bool:
        return abs(self.mean) <= MAX_CENTRED_MEAN * self.std


class CentredCheck(FeatureCheck):
    def wants(self, feature: Feature, piece: Piece) -> bool:
        return feature.centred and piece.numeric

    def new_state(self, feature: Feature, piece: Piece) -> RunningMoments:
        return RunningMoments()

    def inspect(self, state: RunningMoments, feature: Feature, piece: Piece) -> None:
        add_moments(state, piece)

    def judge(self, name: str, feature: Feature, state: RunningMoments) -> Iterator[Violation]:
        if state.count and not state.near_zero:
            found = f"a mean of {format_value(state.mean)} with a deviation of {format_value(state.std)}"
            change = "Subtract the mean of the training data from training and validation data alike."
            yield Violation("centred", name, "a mean near 0", found, change=change)


def add_moments(state: RunningMoments, piece: Piece) -> None:
    found = health_of_rows(piece.array.reshape(1, -1), Mode.FULL_NUMERICS)[0]
    state.add(int(found["neg"] + found["zero"] + found["pos"]), float(found["mean"]), float(found["std"]))


CHECK = CentredCheck
