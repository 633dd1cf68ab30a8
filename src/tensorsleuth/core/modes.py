"""Recording modes. The names are TensorFlow's, the numbers ours."""

from __future__ import annotations

from enum import IntEnum


class Mode(IntEnum):
    """The amount that a recording keeps of every tensor, from least to most."""

    NO_TENSOR = 0  # only when it was computed
    SHAPE = 1  # dtype and shape
    CURT_HEALTH = 2  # whether any value is NaN or infinite
    CONCISE_HEALTH = 3  # the number of NaN, +inf, -inf
    FULL_HEALTH = 4  # also the numbers of negative, zero, positive values; the finite range
    FULL_NUMERICS = 5  # also mean and standard deviation; also integers and booleans
    FULL_TENSOR = 6  # all of these, and the value itself
    FLIGHT = 7  # nothing inside functions, except that a call that went bad is replayed in FULL_HEALTH


DEFAULT_MODE = Mode.FULL_HEALTH
