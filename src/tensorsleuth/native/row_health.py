"""Looks at arrays row by row, with or without TensorFlow: the native kernels, or their twins where there are none."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import DTYPES
from tensorsleuth.core.modes import Mode
from tensorsleuth.native import numpy_health

LIBRARY = Path(__file__).with_name("libsleuth_look.so")
# Health in rows.h: what one look at a row finds.
COUNTS = ("elements", "neg_inf", "pos_inf", "nan", "neg", "zero", "pos")
HEALTH = np.dtype(
    [
        *((name, "<u8") for name in COUNTS),
        *((name, "<f8") for name in ("min", "max", "mean", "std")),
        ("first_bad", "<u8"),
    ]
)
_DTYPE_NUMBERS = {dtype.name: number for number, dtype in DTYPES.items()}


@cache
def load() -> ctypes.CDLL | None:
    """The library, or None where there is none that fits."""
    try:
        library = ctypes.CDLL(str(LIBRARY))
        library.sleuth_look_rows.argtypes = [
            ctypes.c_void_p,
            *[ctypes.c_uint64] * 3,
            *[ctypes.c_int] * 2,
            ctypes.c_void_p,
        ]
        library.sleuth_hash_rows.argtypes = [ctypes.c_void_p, *[ctypes.c_uint64] * 2, ctypes.c_void_p]
        library.sleuth_crc32c.argtypes, library.sleuth_crc32c.restype = (
            [ctypes.c_char_p, ctypes.c_uint64],
            ctypes.c_uint32,
        )
    except (OSError, AttributeError):
        return None
    library.sleuth_look_rows.restype = library.sleuth_hash_rows.restype = None
    return library


def is_number(dtype: np.dtype[Any]) -> bool:
    """Can the kernels read it."""
    return dtype.name in _DTYPE_NUMBERS and dtype.isnative and dtype.kind in "fiubcV"


def health_of_rows(array: Array, mode: Mode = Mode.FULL_HEALTH, together: int = 1) -> npt.NDArray[Any]:
    """One HEALTH for each row of a numeric array, or for so many rows together; the range is that of finite values."""
    flat, each = np.ascontiguousarray(array).reshape(-1), max(1, array[:1].size) * together
    found = np.zeros(-(-flat.size // each), HEALTH)
    library, number = load(), _DTYPE_NUMBERS[array.dtype.name]
    if library is None:
        return _health_in_numpy(flat, each, mode, found)
    whole, size, start = flat.size // each, each * flat.itemsize, flat.ctypes.data
    library.sleuth_look_rows(start, whole, each, size, number, int(mode), found.ctypes.data)
    if whole < len(found):  # the last is shorter
        rest = flat.size - whole * each
        library.sleuth_look_rows(start + whole * size, 1, rest, 0, number, int(mode), found[whole:].ctypes.data)
    return found


def hash_rows(array: Array, before: npt.NDArray[np.uint64] | None = None) -> npt.NDArray[np.uint64]:
    """A number for each row that differs where the bytes of rows do; `before`: that of what else belongs to them."""
    rows = np.ascontiguousarray(array)
    hashes = np.zeros(len(rows), np.uint64) if before is None else before.copy()
    library = load()
    if library is None:
        return _hash_slowly(rows, hashes)
    library.sleuth_hash_rows(rows.ctypes.data, len(rows), rows[:1].nbytes, hashes.ctypes.data)
    return hashes


def crc32c(data: bytes) -> int:
    """The checksum that TFRecord files have."""
    library = load()
    return int(library.sleuth_crc32c(data, len(data))) if library is not None else _crc32c_slowly(data)


@cache
def _crc_table() -> tuple[int, ...]:
    table = list(range(256))
    for _ in range(8):
        table = [one >> 1 ^ (0x82F63B78 if one & 1 else 0) for one in table]
    return tuple(table)


def _crc32c_slowly(data: bytes) -> int:
    crc, table = 0xFFFFFFFF, _crc_table()
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def _health_in_numpy(flat: Array, each: int, mode: Mode, found: npt.NDArray[Any]) -> npt.NDArray[Any]:
    for place in range(len(found)):
        row = flat[place * each : (place + 1) * each]
        found[place] = tuple(numpy_health.measure_health(row, _DTYPE_NUMBERS[flat.dtype.name], mode))
    return found


def _hash_slowly(rows: Array, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    import hashlib  # loads OpenSSL

    for place, row in enumerate(rows):
        seeded = hashlib.blake2b(hashes[place].tobytes() + row.tobytes(), digest_size=8)
        hashes[place] = np.frombuffer(seeded.digest(), np.uint64)[0]
    return hashes
