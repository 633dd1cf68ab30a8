"""Activations that may put a layer to rest: ReLUs that are off, tanh and sigmoid at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np

RELUS = frozenset(["Relu", "Relu6"])  # after them a unit that is zero for all is dead
MAX_SLOPES = {"Tanh": 1.0, "Sigmoid": 0.25}  # slopes, at 0
ACTIVATIONS = RELUS | MAX_SLOPES.keys()


def relative_slope(activation: str, mean: Any, square: Any) -> Any:
    """The mean slope of tanh or sigmoid, as a share of the steepest, from the means of what is put out and its square.

    1 - y² is the slope of tanh, y - y² that of sigmoid.
    """
    found = 1.0 - square if activation == "Tanh" else mean - square
    return np.maximum(found / MAX_SLOPES[activation], 0.0)
