"""Spellings of ops in programs: operators, and functions of other names than the op has."""

from __future__ import annotations

import re

_VERSION = re.compile(r"V\d+$")
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
_OTHER_NAMES = {
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


def spellings(op: str) -> frozenset[str]:
    """Return the names of functions that may have called an op, in lower case without underscores."""
    plain = _VERSION.sub("", op).lower()
    return frozenset({plain, f"reduce{plain}", *(name.replace("_", "") for name in _OTHER_NAMES.get(op, ()))})
