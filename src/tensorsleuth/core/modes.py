"""Recording modes. The names are TensorFlow's, the numbers ours."""

from __future__ import annotations

from enum import IntEnum


class Mode(IntEnum):
    """The amount that is recorded of every tensor, from least to most."""

    NO_TENSOR = 0  # that it was computed, and when
    SHAPE = 1  # dtype and shape
    CURT_HEALTH = 2  # is any value NaN or infinite
    CONCISE_HEALTH = 3  # how many NaN, +inf, -inf
    FULL_HEALTH = 4  # also how many negative, zero, positive; the finite range
    FULL_NUMERICS = 5  # also mean and standard deviation; integers and bools too
    FULL_TENSOR = 6  # all that, and the value itself
    FLIGHT = 7  # nothing in functions while all goes well; a call that went bad is run again, in FULL_HEALTH


DEFAULT_MODE = Mode.FULL_HEALTH
