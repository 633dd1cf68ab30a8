"""Finds images that were not scaled, or of which only some were."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation, format_value
from tensorsleuth.data.block import Piece
from tensorsleuth.data.check import FeatureCheck
from tensorsleuth.data.feature import Feature, Label
from tensorsleuth.data.tally import MAX_EXAMPLES

MIN_IMAGE_SIDE = 8  # pixels on a side
CHANNELS = (1, 3, 4)
MAX_BYTE = 255
MAX_SCALED = 1.0 + 1e-3


class PixelRange:
    """The range of the images, and which of them are within 0 … 1 and which far outside."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.low, self.high = np.inf, -np.inf
        self.small = self.large = 0  # number of groups of rows
        self.rows: list[int] = []  # rows with large values
        self.values: list[float] = []


class ImagesCheck(FeatureCheck):
    def wants(self, feature: Feature, piece: Piece) -> bool:
        return feature.between is None and not isinstance(feature, Label) and piece.numeric and is_image(piece.shape)

    def new_state(self, feature: Feature, piece: Piece) -> PixelRange:
        return PixelRange(piece.dtype)

    def inspect(self, state: PixelRange, feature: Feature, piece: Piece) -> None:
        seen = piece.range
        if seen is None:
            return
        state.low, state.high = min(state.low, seen[0]), max(state.high, seen[1])
        large, small = piece.health["max"] > 2, (piece.health["max"] <= MAX_SCALED) & (piece.health["max"] > 0)
        state.small, state.large = state.small + int(small.sum()), state.large + int(large.sum())
        for first, rows in piece.rows_where(large) if len(state.rows) < MAX_EXAMPLES else ():
            peaks = np.nanmax(rows.reshape(len(rows), -1), axis=1)
            state.rows += [piece.start + first + int(row) for row in np.flatnonzero(peaks > 2)]
            state.values += [float(peak) for peak in peaks[peaks > 2]]

    def judge(self, name: str, feature: Feature, state: PixelRange) -> Iterator[Violation]:
        if not (state.low >= 0 and 2 < state.high <= MAX_BYTE):
            return
        reach = f"{format_value(state.low)} … {format_value(state.high)}"
        rows, values = tuple((row,) for row in state.rows[:MAX_EXAMPLES]), tuple(state.values[:MAX_EXAMPLES])
        if state.dtype == "uint8":
            found, change = f"bytes, {reach}", "Before they go into a model: tf.cast(x, tf.float32) / 255."
            yield Violation("scale", name, "images that are scaled", found, change=change, severity="warning")
        elif state.small and state.large:
            change = "Scale all rows alike: x / 255 for these."
            found = f"some rows up to 1 and some up to {format_value(state.high)}"
            yield Violation("scale", name, "images of one scale", found, positions=rows, values=values, change=change)
        elif state.dtype.startswith("float"):
            change = "Scale them: x / 255; or declare what is meant: between = [0, 255]."
            yield Violation("scale", name, "images that are scaled", f"values of {reach}", change=change)


def is_image(shape: tuple[int, ...]) -> bool:
    """Return whether rows have height and width, with or without channels."""
    if len(shape) == 4:
        return shape[3] in CHANNELS and min(shape[1:3]) >= MIN_IMAGE_SIDE
    return len(shape) == 3 and min(shape[1:]) >= MIN_IMAGE_SIDE and shape[1] == shape[2]


CHECK = ImagesCheck
