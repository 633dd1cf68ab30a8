"""Ops that make NaN or infinities: their overflows, divisors and domains."""

from __future__ import annotations

from tensorsleuth.core.ops.elementwise import ADDITIONS, DIVISIONS, ROOTS
from tensorsleuth.core.ops.products import OVERFLOWING_PRODUCTS

LARGEST_FINITE = {"float16": 65504.0, "bfloat16": 3.39e38, "float32": 3.4028e38, "float64": 1.797e308}  # by dtype

EXPONENTIALS = frozenset(["Exp", "Expm1", "Sinh", "Cosh"])  # they overflow for inputs of a few hundred
# Sums of many numbers, or of two, that exceed the largest number.
OVERFLOWING_SUMS = (
    ADDITIONS
    | OVERFLOWING_PRODUCTS
    | {
        *("Sum", "AddN", "Sub", "Cumsum", "Mean", "BiasAdd", "BiasAddGrad", "AvgPool", "AvgPool3D", "AvgPoolGrad"),
        *("SegmentSum", "SegmentSumV2", "SegmentMean", "UnsortedSegmentSum", "SparseSegmentSum", "SparseSegmentMean"),
        *("ScatterNd", "TensorScatterAdd", "TensorScatterSub", "FusedBatchNormV3"),
    }
)
# Products, powers and squares that exceed the largest number.
OVERFLOWING_MULTIPLICATIONS = frozenset(["Mul", "Prod", "Square", "Cumprod", "Pow", "SquaredDifference", "L2Loss"])
# Integers wrap around in them.
WRAPPING_OPS = ADDITIONS | {"Mul", "Square", "Sum", "Prod", "Cumsum", "Cumprod", "Pow", "MatMul"}

RECIPROCALS = DIVISIONS | {"Reciprocal"}  # of floats
ALL_DIVISIONS = RECIPROCALS | {"Xdivy", "TruncateDiv", "FloorDiv", "Inv", "DivNoNan"}  # of floats or integers
INTEGER_DIVISIONS = frozenset(["FloorDiv", "TruncateDiv", "FloorMod", "Div"])  # they round to zero or down
NOT_OF_ZERO = RECIPROCALS | {"Log", "Rsqrt", "Xdivy"}  # infinite for 0
NOT_OF_NEGATIVES = ROOTS | {"Log", "Log1p", "Lgamma", "Pow"}  # NaN for some negative numbers
NORMS = ROOTS | {"Norm", "EuclideanNorm"}  # 0 for a vector of zeros
LOGARITHMS = frozenset(["Log", "Log1p", "Xlogy"])
ROOTS_AND_POWERS = ROOTS | {"Pow"}
STEEP_AT_ZERO = NORMS | {"Pow", "Log", "RealDiv"}  # their slope at 0 is infinite
UNDEFINED_WHEN_EMPTY = frozenset(["Mean", "Max", "Min", "SegmentMean"])  # NaN or infinite over no elements

# The second input with which an op changes nothing; of those that commute, the first one as well.
NEUTRAL_NUMBERS = dict.fromkeys([*ADDITIONS, "Sub"], 0.0) | dict.fromkeys(["Mul", *DIVISIONS], 1.0)
COMMUTATIVE = ADDITIONS | {"Mul"}

# (smallest, largest) argument that gives a finite result.
DOMAINS = {
    "Acos": (-1.0, 1.0),
    "Asin": (-1.0, 1.0),
    "Acosh": (1.0, float("inf")),
    "Atanh": (-1.0, 1.0),
    "Erfinv": (-1.0, 1.0),
    "Ndtri": (0.0, 1.0),
    "Lgamma": (0.0, float("inf")),
    "Digamma": (0.0, float("inf")),
    "Betainc": (0.0, 1.0),
}
# The inputs that explain a failure of an op. For other ops every input does.
DECISIVE_INPUTS = {"RealDiv": (1,), "Div": (1,), "Xdivy": (1,), "SqrtGrad": (0,), "RsqrtGrad": (0,)}
# The value is finite but the slope is not, and an argument that stays away from there.
INFINITE_SLOPES = {"Acos": "±1", "Asin": "±1", "Acosh": "1", "Atanh": "±1", "Erfinv": "±1", "Ndtri": "0 and 1"}
SAFE_ARGUMENTS = {"Acosh": "tf.maximum(x, 1.0 + 1e-6)", "Ndtri": "tf.clip_by_value(x, 1e-6, 1.0 - 1e-6)"}
RESULTS_FOR_ZERO = {"Log": "log of that is −∞", "Rsqrt": "1/sqrt of that is ∞"}  # in words

# They give NaN outside of their domain, and no infinity.
ONLY_NAN_OPS = frozenset(["Acos", "Acosh", "Asin", "Sqrt"])
DIVISORS = dict.fromkeys(("Div", "RealDiv", "Xdivy"), 1)  # the input that must not be 0
