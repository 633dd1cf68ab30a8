"""Spellings of ops in programs: operators, and functions of other names than the op has."""

from __future__ import annotations

# Python's operators, by the names of their classes in `ast`.
OPERATORS = {
    "Add": "Add",
    "AddV2": "Add",
    "Sub": "Sub",
    "Neg": "USub",
    "Mul": "Mult",
    "RealDiv": "Div",
    "Div": "Div",
    "FloorDiv": "FloorDiv",
    "FloorMod": "Mod",
    "Pow": "Pow",
    "Square": "Pow",
    "MatMul": "MatMult",
    "BatchMatMulV2": "MatMult",
}
OTHER_NAMES = {
    "RealDiv": ("divide", "truediv"),
    "Div": ("divide",),
    "Mul": ("multiply",),
    "Sub": ("subtract",),
    "Neg": ("negative",),
    "SelectV2": ("where",),
    "Select": ("where",),
    "GatherV2": ("gather", "embedding_lookup"),
    "ResourceGather": ("embedding_lookup", "gather"),
    "BatchMatMulV2": ("matmul",),
    "MatrixInverse": ("inv",),
    "ConcatV2": ("concat", "concatenate"),
}
