"""The health kernels in NumPy: for where the library cannot be built, and to hold it to its word.

Counts, range and `first_bad` are those of `native/src/kernels/health.h` exactly; mean and std agree to rounding.
Neither overflows where the values do not: both are taken of values scaled by a power of two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import DType, DTypeKind, dtype_of
from tensorsleuth.core.layout.rows import NO_INDEX
from tensorsleuth.core.modes import Mode


class TensorHealth(NamedTuple):
    """The health of one tensor. Fields that the mode does not count are 0."""

    elements: int
    neg_inf: int = 0
    pos_inf: int = 0
    nan: int = 0
    neg: int = 0
    zero: int = 0
    pos: int = 0
    min: float = 0.0  # these four of the finite values; NaN where there are none
    max: float = 0.0
    mean: float = 0.0
    std: float = 0.0
    first_bad: int = int(NO_INDEX)


def measure_health(data: Array | bytes | bytearray | memoryview, tf_dtype: int, mode: int) -> TensorHealth:
    """The health of a tensor, given as an array or as its bytes, and TensorFlow's number of its dtype."""
    array = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
    dtype = dtype_of(tf_dtype)
    elements = array.nbytes // dtype.itemsize if dtype.itemsize else array.size
    if mode < Mode.CURT_HEALTH or dtype.kind is DTypeKind.OTHER:
        return TensorHealth(elements)
    with np.errstate(all="ignore"):  # a signalling NaN is what we are here for
        values = _decode(np.ascontiguousarray(array).reshape(-1).view(np.uint8), dtype)
        return _measure(values, mode)


def _measure(values: Array, mode: int) -> TensorHealth:
    sizes = _modulus(values) if np.iscomplexobj(values) else values
    finite = np.isfinite(sizes)
    found = TensorHealth(values.size)
    if not finite.all():
        found = found._replace(first_bad=int(np.argmin(finite)))
    if mode >= Mode.CONCISE_HEALTH:
        found = _count_bad(found, sizes)
    if mode >= Mode.FULL_HEALTH:
        found = _count_good(found, values.real[finite], sizes[finite])
    if mode >= Mode.FULL_NUMERICS:
        found = _add_moments(found, sizes[finite])
    return found


def _count_bad(found: TensorHealth, sizes: Array) -> TensorHealth:
    infinite = np.isinf(sizes)
    return found._replace(
        neg_inf=int(np.count_nonzero(infinite & (sizes < 0))),
        pos_inf=int(np.count_nonzero(infinite & (sizes > 0))),
        nan=int(np.count_nonzero(np.isnan(sizes))),
    )


def _count_good(found: TensorHealth, real: Array, sizes: Array) -> TensorHealth:
    neg, zero = int(np.count_nonzero(real < 0)), int(np.count_nonzero(sizes == 0))
    low, high = (float(sizes.min()) + 0.0, float(sizes.max()) + 0.0) if sizes.size else (math.nan, math.nan)  # no -0
    return found._replace(neg=neg, zero=zero, pos=sizes.size - neg - zero, min=low, max=high)


def _add_moments(found: TensorHealth, sizes: Array) -> TensorHealth:
    if not sizes.size:
        return found._replace(mean=math.nan, std=math.nan)
    _, exponent = math.frexp(max(abs(found.min), abs(found.max)))
    scaled = np.ldexp(sizes.astype(np.float64), -exponent)
    mean, std = (float(np.ldexp(moment, exponent)) for moment in (scaled.mean(), scaled.std()))
    return found._replace(mean=min(max(mean, found.min), found.max), std=std)


def _modulus(values: Array) -> Array:
    """|z| where z is finite; else NaN, or the first infinite part."""
    real, imag = values.real.astype(np.float64), values.imag.astype(np.float64)
    if values.dtype == np.complex64:
        sizes: Array = np.sqrt(real * real + imag * imag)
    else:
        sizes = np.minimum(np.hypot(real, imag), np.finfo(np.float64).max)
    sizes = np.where(np.isinf(imag), imag, sizes)
    sizes = np.where(np.isinf(real), real, sizes)
    sizes[np.isnan(real) | np.isnan(imag)] = np.nan
    return sizes


def _decode(raw: npt.NDArray[np.uint8], dtype: DType) -> Array:
    if dtype.name == "bfloat16":  # the upper half of a float
        return np.left_shift(raw.view(np.uint16), 16, dtype=np.uint32).view(np.float32)
    if dtype.number in _FLOAT8:
        return _float8_values(dtype.number)[raw]
    if dtype.kind is DTypeKind.BOOL:
        return raw.astype(np.bool_).astype(np.uint8)
    return raw.view(dtype.name.removeprefix("q"))


# Bits of mantissa, bias of the exponent, and the byte of the first special value.
_FLOAT8 = {24: (2, 15, 0x7C), 25: (3, 7, 0x7F), 26: (3, 8, 0x80), 27: (3, 11, 0x80), 28: (2, 16, 0x80)}


def _float8_values(number: int) -> npt.NDArray[np.float32]:
    """Return the values that the 256 bytes of a float8 type stand for."""
    mantissa, bias, special = _FLOAT8[number]
    byte = np.arange(256)
    exponent, fraction = (byte & 0x7F) >> mantissa, byte & ((1 << mantissa) - 1)
    fraction += np.where(exponent > 0, 1 << mantissa, 0)
    power = np.maximum(exponent, 1) - bias - mantissa
    values: npt.NDArray[np.float32] = np.ldexp(fraction.astype(np.float32), power)
    values[byte == 0x80 if special == 0x80 else (byte & 0x7F) >= special] = np.nan
    values[((byte & 0x7F) == special) & (special == 0x7C)] = np.inf
    return np.where(byte & 0x80, -values, values)
