"""Ops that copy, reshape, cut, join or move the elements of a tensor, and ops that only read its shape."""

from __future__ import annotations

from tensorsleuth.core.ops.elementwise import BASIC_ARITHMETIC, ELEMENTWISE, OPERATOR_WORDS
from tensorsleuth.core.ops.kinds import SELECTS, VARIABLE_READS, VIEWS

IDENTITIES = frozenset(["Identity", "StopGradient"])  # the output is the input
COPIES = IDENTITIES | {"Cast", "Snapshot"}  # the same elements in the same shape
CHECKED_COPIES = IDENTITIES | {"Cast", "EnsureShape"}  # the same, with the check of a shape
ALL_COPIES = COPIES | CHECKED_COPIES  # either
FORWARDS = ALL_COPIES | {"IdentityN"}  # pass on one tensor or several

RESHAPES = frozenset(["Reshape", "ExpandDims", "Squeeze"])  # the same elements in the same order
# IdentityN follows a function with a custom gradient, such as DeBERTa's dropout.
WEIGHING_PASSES = RESHAPES | {"Transpose", "Mul", "StridedSlice"}  # from weights to the sum of what they weigh
MOVES = COPIES | RESHAPES | {"Transpose", "IdentityN"}
# The graph optimizer removes them if it can. The values stay the same.
REMOVABLE_VIEWS = IDENTITIES | RESHAPES | {"PreventGradient", "Snapshot"}
# Also removed where they change nothing: x · 1, x / 1, x + 0, −(−x), and a repetition once.
REMOVABLE = REMOVABLE_VIEWS | BASIC_ARITHMETIC | {"IdentityN", "Neg", "AddN", "Tile", "BroadcastTo", "Transpose"}

SLICES = frozenset(["Slice", "StridedSlice"])  # a part of each axis
SPLITS = frozenset(["Split", "SplitV"])  # parts along one axis, one for each output
PADS = frozenset(["Pad", "PadV2"])  # add a constant around their input
REPEATS = frozenset(["Tile", "BroadcastTo"])  # copy their input along an axis
JOINS = frozenset(["Pack", "ConcatV2"])  # several tensors become one
CUTS_AND_JOINS = SLICES | PADS | {"ConcatV2"}  # change the length of an axis
PARTS = SLICES | SPLITS | {"Unpack", "ConcatV2"}  # queries, keys and values out of one product
SHIFTS = frozenset(["Roll", "Reverse", "ReverseV2"])  # move elements along an axis
SHIFTING_JOINS = PADS | {"MirrorPad", "ConcatV2", "TensorScatterUpdate"}  # shift elements by what they add in front
VARIABLE_VIEWS = MOVES | SLICES | REPEATS  # of a variable: each element is one of its elements
VALUE_PRESERVING = FORWARDS | VIEWS | REPEATS | {"StridedSlice"}  # each element is one of the input's
TEXT_MOVES = RESHAPES | {"ConcatV2", "GatherV2", "Identity", "Pack", "StridedSlice", "Tile"}  # of strings

AXIS_CHANGES = frozenset(["ExpandDims", "Reshape", "Transpose", "StridedSlice"])  # may add or move an axis
AXIS_ADDING_OPS = REPEATS | {"ExpandDims", "Transpose", "Pack"}  # the program asks for another axis
AXIS_REMOVING_OPS = frozenset(["Squeeze", "Reshape", "StridedSlice"])  # an axis may be gone
SHAPE_PRESERVING_FUNCTIONS = ALL_COPIES | {"BiasAdd", "Softmax", "LogicalNot"}  # the first input has the same shape
SHAPE_PRESERVING_ARITHMETIC = ALL_COPIES | BASIC_ARITHMETIC | {"BiasAdd"}  # axes stay where they are
AXIS_OPS = SHAPE_PRESERVING_ARITHMETIC | SPLITS | {"Reshape", "Transpose", "Unpack", "StridedSlice"}  # axes are traced
# From a difference to the reduction of a loss: none of these changes which elements are compared.
LOSS_PASSES = ELEMENTWISE | OPERATOR_WORDS.keys() | CHECKED_COPIES | SELECTS
LOSS_PASSES |= {"Relu", "Softplus", "Cosh", "LogicalNot", "Where"}

LIKES = frozenset(["ZerosLike", "OnesLike"])  # take a shape, and no value
LINEAR_PASSES = ALL_COPIES | RESHAPES | {"Mul", "RealDiv", "AddN", "Neg"}  # a gradient stays one behind them
SIZE_OPS = frozenset(["Shape", "Size"])  # how many elements
SIZE_AND_RANK_OPS = SIZE_OPS | {"Rank"}  # or how many axes
SHAPE_ONLY_OPS = LIKES | SIZE_AND_RANK_OPS | {"ShapeN", "BroadcastGradientArgs"}  # the input's values do not matter
# The input that holds the shape of the output.
SHAPE_INPUTS = {
    **dict.fromkeys(("Reshape", "BroadcastTo"), 1),
    **dict.fromkeys(("RandomUniform", "RandomStandardNormal", "TruncatedNormal"), 0),
    **dict.fromkeys(("StatelessRandomUniformV2", "StatelessRandomNormalV2"), 0),
    **dict.fromkeys(("Fill", "StridedSliceGrad", "Empty"), 0),
}
# Those of them that make a tensor of the shape that they are given, out of nothing else.
SHAPED_OPS = {op: slot for op, slot in SHAPE_INPUTS.items() if "Random" in op or op in ("Fill", "TruncatedNormal")}

GENERATED_CONSTANTS = frozenset(["Const", "Range"])  # the program wrote their values down
CONSTANTS_AND_VARIABLES = GENERATED_CONSTANTS | {"VariableV2"}  # not computed from data
NON_DATA_OPS = GENERATED_CONSTANTS | LIKES | {"ReadVariableOp", "Fill", "LinSpace"}  # no samples in them
# A scalar output of these is rarely a loss.
UNLIKELY_LOSSES = VARIABLE_READS | {"Feed", "Cast", "Const", "Identity"}
