"""Activations that may saturate a layer: ReLUs that are off, tanh and sigmoid at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np

RELUS = frozenset(["Relu", "Relu6"])  # a unit that is zero for all samples after one of these is dead
MAX_SLOPES = {"Tanh": 1.0, "Sigmoid": 0.25}  # the slope at 0
ACTIVATIONS = RELUS | MAX_SLOPES.keys()


def relative_slope(activation: str, mean: Any, square: Any) -> Any:
    """Return the mean slope of tanh or sigmoid as a share of the steepest, from the means of output and squared output.

    The slope of tanh is 1 - y², that of sigmoid y - y².
    """
    found = 1.0 - square if activation == "Tanh" else mean - square
    return np.maximum(found / MAX_SLOPES[activation], 0.0)
