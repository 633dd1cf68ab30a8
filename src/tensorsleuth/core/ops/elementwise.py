"""Ops that compute each element of their output from one element of each input: arithmetic, comparisons, logic."""

from __future__ import annotations

from tensorsleuth.core.ops.activations import RELUS
from tensorsleuth.core.ops.kinds import SELECTS

ADDITIONS = frozenset(["AddV2", "Add"])  # TensorFlow 1 wrote the second
SUMS_OF_TWO = ADDITIONS | {"Sub"}  # a + b, a - b
DIFFERENCES = frozenset(["Sub", "SquaredDifference"])  # of a prediction and a label
CLIP_PARTS = frozenset(["ClipByValue", "Maximum", "Minimum", "Mul"])  # what clips by value and by norm consist of
DIVISIONS = frozenset(["RealDiv", "Div"])  # x / 0 is infinite
SCALINGS = DIVISIONS | {"Mul", "DivNoNan"}  # the output is a multiple of the input
BASIC_ARITHMETIC = SUMS_OF_TWO | {"Mul", "RealDiv"}  # the four operators of Python
EXTREMA = frozenset(["Maximum", "Minimum"])  # of two tensors, element by element
CLIPS = EXTREMA | {"ClipByValue"}  # bound their input

ROUNDINGS = frozenset(["Round", "Rint", "Floor"])  # to an integer
STEPS = ROUNDINGS | {"Ceil", "Sign"}  # flat, except for jumps
ROOTS = frozenset(["Sqrt", "Rsqrt"])  # their slope at 0 is infinite

COMPARISONS = frozenset(["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"])  # of two tensors
EQUALITIES = frozenset(["Equal", "NotEqual"])  # a test for one number, as for padding
COMPARISONS_AND_NOT = COMPARISONS | {"LogicalNot"}  # the comparison may be inverted
BINARY_LOGIC = frozenset(["LogicalAnd", "LogicalOr"])  # of two booleans
BOOLEAN_OPS = COMPARISONS_AND_NOT | BINARY_LOGIC  # their outputs are booleans

# Arithmetic of one or two tensors.
ARITHMETIC = BASIC_ARITHMETIC | SCALINGS | EXTREMA | {"Xdivy", "Neg", "Abs"}
# Functions of one tensor, with Pow.
ELEMENTWISE_FUNCTIONS = ROOTS | {
    *("Pow", "Exp", "Expm1", "Log", "Log1p", "Square", "Sigmoid", "Tanh", "Softplus", "Cast"),
}
ELEMENTWISE = ARITHMETIC | ELEMENTWISE_FUNCTIONS  # which causes of NaN look through

# Their inputs may have different shapes that broadcast to one.
BROADCASTING_OPS = BASIC_ARITHMETIC | EXTREMA | COMPARISONS | BINARY_LOGIC | {"SelectV2"}

# Words for binary ops, between the words for their inputs.
OPERATOR_WORDS = {
    **dict.fromkeys(ADDITIONS, "plus"),
    **dict.fromkeys(("Sub", "SquaredDifference"), "minus"),
    **dict.fromkeys(COMPARISONS, "compared with"),
    **dict.fromkeys(EXTREMA, "or"),
    "Mul": "times",
    "RealDiv": "divided by",
    "LogicalAnd": "and",
    "LogicalOr": "or",
}

# A dead unit of a ReLU stays visible after them.
DEAD_UNIT_PASSES = frozenset(["Mul", "SelectV2", "Cast", "AddV2", "BiasAdd", "MaxPool", "AvgPool", "Mean", "ConcatV2"])
DEAD_UNIT_PASSES |= {"Relu"}
# A saturated unit stays visible after them. Mul is missing because gates are meant to open and close.
SATURATED_UNIT_PASSES = frozenset(["SelectV2", "Cast", "BiasAdd"])

# A token id remains an id after them: cast, cut, clipped or rounded.
ID_PRESERVING = CLIPS | ROUNDINGS | {"Cast", "Relu", "StridedSlice"}

# Their output may be finite although an input is not.
HIDING_OPS = SELECTS | CLIPS
# Flat if the whole input lies beyond a bound.
CLIPPING_OPS = CLIPS | RELUS
