"""Ops that make masks and put them on scores, as attention does."""

from __future__ import annotations

from tensorsleuth.core.ops.elementwise import (
    BASIC_ARITHMETIC,
    BOOLEAN_OPS,
    CLIPS,
    DIVISIONS,
    EXTREMA,
    SUMS_OF_TWO,
)
from tensorsleuth.core.ops.kinds import SELECTS
from tensorsleuth.core.ops.products import PRODUCTS
from tensorsleuth.core.ops.views import COPIES, CUTS_AND_JOINS, MOVES, REPEATS

# From a mask of the inputs to the mask of the scores.
MASK_MAKING_OPS = BASIC_ARITHMETIC | BOOLEAN_OPS | EXTREMA | SELECTS | REPEATS
MASK_MAKING_OPS |= {"Neg", "Cast", "StridedSlice", "MatrixBandPart"}
MASK_COMBINING_OPS = EXTREMA | {"Mul"}  # of two masks of zeros and ones
MASK_ADDING_OPS = SUMS_OF_TWO | SELECTS | {"Cast", "Identity", "BiasAdd"}  # put a mask on scores
CAST_MASK_CONSUMERS = frozenset(["AddV2", "Sub", "Mul"])  # take a mask as a number: (1 - mask) * -1e9
MASK_CONSUMERS = SELECTS | {"LogicalAnd", "LogicalNot", "BooleanMask"}  # take a mask as a boolean
SCORE_OPS = PRODUCTS | {"Softmax"}  # a mask of their outputs selects among scores

WEIGHTING_OPS = SELECTS | DIVISIONS | {"Mul", "MulNoNan"}  # scale scores or set some to a constant
BOUNDING_OPS = SUMS_OF_TWO | CLIPS | {"BiasAdd", "Tanh"}  # shift scores or cap them
AXIS_KEEPING_OPS = COPIES | WEIGHTING_OPS | BOUNDING_OPS  # the axis of the keys stays where it is
OPS_AFTER_SOFTMAX = MOVES | CUTS_AND_JOINS | WEIGHTING_OPS  # from the weights to the values: dropout
OPS_BEFORE_SOFTMAX = OPS_AFTER_SOFTMAX | BOUNDING_OPS  # from scores to the softmax: scaled, capped, masked
