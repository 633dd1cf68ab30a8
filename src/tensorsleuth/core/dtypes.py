"""TensorFlow's DataType numbers, with the size and the kind of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DTypeKind(Enum):
    """The kind of value that a dtype holds, as far as its health is concerned."""

    FLOAT = "float"
    COMPLEX = "complex"
    INT = "int"
    UINT = "uint"
    BOOL = "bool"
    OTHER = "other"  # not a number, or several packed into a byte


@dataclass(frozen=True)
class DType:
    """One of TensorFlow's types, under the name that `tf.DType.name` gives it."""

    number: int
    name: str
    itemsize: int  # bytes; 0 if elements have no fixed size
    kind: DTypeKind


_ROWS = (
    (1, "float32", 4, DTypeKind.FLOAT),
    (2, "float64", 8, DTypeKind.FLOAT),
    (3, "int32", 4, DTypeKind.INT),
    (4, "uint8", 1, DTypeKind.UINT),
    (5, "int16", 2, DTypeKind.INT),
    (6, "int8", 1, DTypeKind.INT),
    (7, "string", 0, DTypeKind.OTHER),
    (8, "complex64", 8, DTypeKind.COMPLEX),
    (9, "int64", 8, DTypeKind.INT),
    (10, "bool", 1, DTypeKind.BOOL),
    (11, "qint8", 1, DTypeKind.INT),
    (12, "quint8", 1, DTypeKind.UINT),
    (13, "qint32", 4, DTypeKind.INT),
    (14, "bfloat16", 2, DTypeKind.FLOAT),
    (15, "qint16", 2, DTypeKind.INT),
    (16, "quint16", 2, DTypeKind.UINT),
    (17, "uint16", 2, DTypeKind.UINT),
    (18, "complex128", 16, DTypeKind.COMPLEX),
    (19, "float16", 2, DTypeKind.FLOAT),
    (20, "resource", 0, DTypeKind.OTHER),
    (21, "variant", 0, DTypeKind.OTHER),
    (22, "uint32", 4, DTypeKind.UINT),
    (23, "uint64", 8, DTypeKind.UINT),
    (24, "float8_e5m2", 1, DTypeKind.FLOAT),
    (25, "float8_e4m3fn", 1, DTypeKind.FLOAT),
    (26, "float8_e4m3fnuz", 1, DTypeKind.FLOAT),
    (27, "float8_e4m3b11fnuz", 1, DTypeKind.FLOAT),
    (28, "float8_e5m2fnuz", 1, DTypeKind.FLOAT),
    (29, "int4", 1, DTypeKind.OTHER),
    (30, "uint4", 1, DTypeKind.OTHER),
    (31, "int2", 1, DTypeKind.OTHER),
    (32, "uint2", 1, DTypeKind.OTHER),
    (33, "float4_e2m1fn", 1, DTypeKind.OTHER),
)

STRING, RESOURCE, VARIANT = 7, 20, 21

DTYPES = {row[0]: DType(*row) for row in _ROWS}


def is_bool(number: int) -> bool:
    return number in DTYPES and DTYPES[number].kind is DTypeKind.BOOL


def is_float(number: int) -> bool:
    """Return whether a dtype can hold a NaN or an infinity."""
    return number in DTYPES and DTYPES[number].kind in (DTypeKind.FLOAT, DTypeKind.COMPLEX)


def dtype_of(number: int) -> DType:
    """Return the dtype with that number; for one unknown to us, a dtype without size or numbers."""
    return DTYPES.get(number) or DType(number, f"dtype{number}", 0, DTypeKind.OTHER)
