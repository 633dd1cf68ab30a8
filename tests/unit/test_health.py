"""The portable kernel, the AVX2 and AVX-512 kernels and their NumPy twin find the same in every tensor."""

from __future__ import annotations

import ctypes
import math
import platform
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thorough import examples

from tensorsleuth import native
from tensorsleuth.core.dtypes import DTYPES, DType, DTypeKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.native import loader
from tensorsleuth.native.numpy_health import TensorHealth, measure_health

SOURCES = Path(native.__file__).parent / "src"
FLAGS = ["-O3", "-fPIC", "-std=c++17", "-shared", "-fvisibility=hidden", f"-I{SOURCES}"]
NUMBERS = [dtype for dtype in DTYPES.values() if dtype.kind is not DTypeKind.OTHER]
FLOATS = [dtype for dtype in NUMBERS if dtype.kind in (DTypeKind.FLOAT, DTypeKind.COMPLEX)]
BY_NAME = {dtype.name: dtype for dtype in DTYPES.values()}
LENGTHS = [0, 1, 2, 3, 5, 8, 16, 31, 33, 64, 127, 2047, 2048, 2049, 4096, 4099, 8193, 16385]
FLUSHING = 0x9FC0  # MXCSR as TensorFlow's threads have it: flush to zero, denormals are zero

CHANGES_MXCSR = """
#include <cstdint>
#include <xmmintrin.h>
using Look = void (*)(const void*, uint64_t, int, int, int, void*);
extern "C" __attribute__((visibility("default")))
unsigned look_with_mxcsr(unsigned csr, Look look,
                         const void* data, uint64_t n, int dtype, int mode, int isa, void* out) {
  unsigned before = _mm_getcsr();
  _mm_setcsr(csr);
  look(data, n, dtype, mode, isa, out);
  csr = _mm_getcsr();
  _mm_setcsr(before);
  return csr;
}
"""


class CHealth(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_double if name in ("min", "max", "mean", "std") else ctypes.c_uint64)
        for name in TensorHealth._fields
    ]


def as_health(out: CHealth) -> TensorHealth:
    return TensorHealth(*(getattr(out, name) for name in TensorHealth._fields))


LOOK_ARGS: list[Any] = [ctypes.c_void_p, ctypes.c_uint64, *[ctypes.c_int] * 3, ctypes.c_void_p]


def build(target: Path, *sources: Path) -> ctypes.CDLL:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    subprocess.run([compiler, *FLAGS, *sources, "-o", target], check=True)
    return ctypes.CDLL(str(target))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    built = build(tmp_path_factory.mktemp("health") / "health.so", *sorted(SOURCES.glob("kernels/health*.cc")))
    built.sleuth_health.argtypes = LOOK_ARGS
    built.sleuth_health.restype = None
    return built


@pytest.fixture(scope="module", params=["portable", "AVX2", "AVX-512", "best"])
def kernel(request: pytest.FixtureRequest, library: ctypes.CDLL) -> Callable[..., TensorHealth]:
    isa = -1 if request.param == "best" else loader.INSTRUCTION_SETS.index(request.param)
    if isa > library.sleuth_isa():
        pytest.skip(f"this machine has no {request.param}")

    def run(raw: bytes, dtype: DType, mode: int, offset: int = 0) -> TensorHealth:
        room = ctypes.create_string_buffer(b"\x7f" * offset + raw, len(raw) + offset)
        out = CHealth()
        elements = len(raw) // dtype.itemsize
        start = ctypes.addressof(room) + offset
        library.sleuth_health(start, elements, dtype.number, mode, isa, ctypes.addressof(out))
        return as_health(out)

    return run


@pytest.fixture(scope="module")
def flushing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if platform.machine() != "x86_64":
        pytest.skip("MXCSR is of x86")
    source = tmp_path_factory.mktemp("mxcsr") / "mxcsr.cc"
    source.write_text(CHANGES_MXCSR)
    changes = build(source.with_suffix(".so"), source).look_with_mxcsr
    changes.argtypes = [ctypes.c_uint, ctypes.c_void_p, *LOOK_ARGS]
    changes.restype = ctypes.c_uint
    return changes


def same(found: TensorHealth, expected: TensorHealth, dtype: DType) -> None:
    """Equal to the bit, but for mean and deviation: summed in another order, of floats in single precision."""
    single = dtype.kind in (DTypeKind.FLOAT, DTypeKind.COMPLEX) and dtype.name not in ("float64", "complex128")
    for name in ("mean", "std"):
        near = close(getattr(found, name), getattr(expected, name), expected, 1e-6 if single else 1e-9)
        assert near, (name, found, expected)
    np.testing.assert_equal(exact(found), exact(expected))


def exact(health: TensorHealth) -> dict[str, float]:
    normal = {name: value + 0 for name, value in health._asdict().items()}  # makes 0 of -0
    return normal | {"mean": 0, "std": 0}


def close(found: float, expected: float, health: TensorHealth, share: float) -> bool:
    if found == expected or math.isnan(expected):
        return math.isnan(found) or found == expected
    peak = max(abs(health.min), abs(health.max))
    return abs(found - expected) <= share * abs(health.std) + 1e-13 * peak


def patterns(dtype: DType) -> list[bytes]:
    """Bits that a kernel may trip over: both zeros, subnormals, infinities, NaNs of every make."""
    part = dtype.itemsize // (2 if dtype.kind is DTypeKind.COMPLEX else 1)
    top = 8 * part - 1
    exponent = {1: 2, 2: 7 if dtype.name == "bfloat16" else 10, 4: 23, 8: 52}[part]
    infinity = (1 << top) - (1 << exponent)
    sizes = [0, 1, (1 << exponent) - 1, 1 << exponent, infinity - 1, infinity, infinity + 1, (1 << top) - 1]
    sizes.append(infinity + (1 << (exponent - 1)))
    parts = [(size | sign << top).to_bytes(part, "little") for size in sizes for sign in (0, 1)]
    return parts if dtype.kind is not DTypeKind.COMPLEX else [a + b for a in parts for b in parts]


def ordinary(rng: np.random.Generator, dtype: DType, n: int, centre: float, spread: float) -> bytes:
    """Values as a program has them."""
    values = rng.normal(centre, spread, (n, 2))
    if dtype.kind is DTypeKind.COMPLEX:
        return values.astype("f4" if dtype.itemsize == 8 else "f8").tobytes()
    if dtype.name in ("float16", "float32", "float64"):
        return values[:, 0].astype(dtype.name).tobytes()
    if dtype.name == "bfloat16":
        return (values[:, 0].astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return rng.bytes(n * dtype.itemsize)


@st.composite
def tensors(draw: st.DrawFn, dtypes: list[DType]) -> tuple[bytes, DType]:
    """Ordinary values or any bits, long or short, some of them replaced by what is hard."""
    dtype = draw(st.sampled_from(dtypes))
    n = draw(st.sampled_from(LENGTHS) | st.integers(0, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    centre, spread = draw(st.sampled_from([(0, 1), (1e4, 1e-3), (-3, 0), (0, 1e-4), (1e4, 1e4)]))
    any_bits = draw(st.booleans())
    raw = bytearray(rng.bytes(n * dtype.itemsize) if any_bits else ordinary(rng, dtype, n, centre, spread))
    places = st.integers(0, max(n - 1, 0))
    hard = st.lists(st.tuples(places, st.sampled_from(patterns(dtype))), max_size=5)
    for index, bits in draw(hard) if n else []:
        raw[index * dtype.itemsize : (index + 1) * dtype.itemsize] = bits
    return bytes(raw), dtype


@settings(max_examples=examples(400), deadline=None)
@given(tensor=tensors(NUMBERS), mode=st.sampled_from(Mode), offset=st.sampled_from([0, 1, 3]))
def test_kernel_and_twin_agree(kernel: Any, tensor: tuple[bytes, DType], mode: Mode, offset: int) -> None:
    raw, dtype = tensor
    same(kernel(raw, dtype, mode, offset), measure_health(raw, dtype.number, mode), dtype)


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda dtype: dtype.name)
def test_every_dtype_in_every_mode(kernel: Any, dtype: DType) -> None:
    rng = np.random.default_rng(dtype.number)
    hard = b"".join(patterns(dtype))
    full_lanes = [bytes([byte]) * dtype.itemsize * 9000 for byte in (1, 255)]
    any_bits = rng.bytes(5003 * dtype.itemsize)
    for raw in (b"", hard, hard * 300, any_bits, ordinary(rng, dtype, 5003, 7, 1), *full_lanes):
        for mode in Mode:
            same(kernel(raw, dtype, mode), measure_health(raw, dtype.number, mode), dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.name)
@given(bits=st.lists(st.integers(0, 2**128 - 1), max_size=40), mode=st.sampled_from(Mode))
@settings(max_examples=examples(60), deadline=None)
def test_any_bits(kernel: Any, dtype: DType, bits: list[int], mode: Mode) -> None:
    raw = b"".join((value % 256**dtype.itemsize).to_bytes(dtype.itemsize, "little") for value in bits)
    same(kernel(raw, dtype, mode), measure_health(raw, dtype.number, mode), dtype)


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
@settings(max_examples=examples(200), deadline=None)
def test_moments_of_any_doubles_stay_in_range(kernel: Any, values: list[float]) -> None:
    raw = np.array(values).tobytes()
    found = kernel(raw, BY_NAME["float64"], Mode.FULL_NUMERICS)
    same(found, measure_health(raw, 2, Mode.FULL_NUMERICS), BY_NAME["float64"])
    assert found.min <= found.mean <= found.max
    assert math.isfinite(found.std)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.name)
def test_flushed_subnormals_count(library: ctypes.CDLL, flushing: Any, dtype: DType) -> None:
    raw = b"".join(patterns(dtype)) * 100
    kernel = ctypes.cast(library.sleuth_health, ctypes.c_void_p)
    for isa, mode in product(range(library.sleuth_isa() + 1), Mode):
        out = CHealth()
        args = (raw, len(raw) // dtype.itemsize, dtype.number, mode, isa, ctypes.addressof(out))
        assert flushing(FLUSHING, kernel, *args) == FLUSHING, "the thread gets its settings back"
        same(as_health(out), measure_health(raw, dtype.number, mode), dtype)


def kinds_of_values(rng: np.random.Generator, dtype: DType, n: int) -> dict[str, np.ndarray[Any, Any]]:
    """Values of both signs or of one, with zeros or without, subnormals, one bad value, as the type's bits."""
    normal, place = rng.normal(size=n), rng.integers(max(n, 1))
    found = {
        "both": normal,
        "above": np.abs(normal) + 0.1,
        "below": -np.abs(normal) - 0.1,
        "relu": np.maximum(normal, 0),
        "relu's gradient": np.where(normal > 0, normal, -0.0),
        "none below": np.where(normal > 0, -0.0, -normal),
        "none above": np.where(normal > 0, 0.0, normal),
        "-0": np.full(n, -0.0),
        "tiny": normal * {"float16": 1e-6, "float64": 1e-310}.get(dtype.name, 1e-39),
    }
    found |= {str(bad): np.where(np.arange(n) == place, bad, normal) for bad in (np.nan, np.inf, -np.inf)}
    return {name: bits_of(values, dtype) for name, values in found.items()}


def bits_of(values: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    if dtype.name == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(dtype.name).view(f"u{dtype.itemsize}")


def plain_numpy(bits: np.ndarray[Any, Any], dtype: DType) -> tuple[float, ...]:
    """The counts, the range and the place of the first bad value, in the fewest words."""
    x = (bits.astype(np.uint32) << 16).view(np.float32) if dtype.name == "bfloat16" else bits.view(dtype.name)
    good = x[np.isfinite(x)].astype(np.float64)
    low, high = (good.min() + 0, good.max() + 0) if good.size else (math.nan, math.nan)
    bad = np.flatnonzero(~np.isfinite(x))
    counts: list[Any] = [
        len(x),
        *(np.count_nonzero(x == one) for one in (-np.inf, np.inf)),
        np.count_nonzero(np.isnan(x)),
    ]
    counts += [np.count_nonzero(good < 0), np.count_nonzero(good == 0), np.count_nonzero(good > 0)]
    return (*counts, low, high, 0, 0, int(bad[0]) if len(bad) else 2**64 - 1)


SWEPT_AS_BITS = ("float32", "float16", "bfloat16", "float64")
SPAN = 32768  # kSpan in health_bits.h, in bytes


@pytest.mark.parametrize("name", SWEPT_AS_BITS)
def test_every_small_size_is_as_in_plain_numpy(kernel: Any, name: str) -> None:
    rng, dtype = np.random.default_rng(7), BY_NAME[name]
    for n in range(201):
        for kind, bits in kinds_of_values(rng, dtype, n).items():
            found = kernel(bits.tobytes(), dtype, Mode.FULL_HEALTH, offset=n % 5)
            np.testing.assert_equal(tuple(found), plain_numpy(bits, dtype), err_msg=f"{n} values, {kind}")
            assert found.first_bad == kernel(bits.tobytes(), dtype, Mode.CURT_HEALTH, offset=1).first_bad


@pytest.mark.parametrize("name", SWEPT_AS_BITS)
@pytest.mark.parametrize("beyond", [-65, -1, 0, 1, 63, 2100])
def test_every_kind_of_values_is_as_in_plain_numpy_across_spans(kernel: Any, name: str, beyond: int) -> None:
    rng, dtype = np.random.default_rng(8), BY_NAME[name]
    for kind, bits in kinds_of_values(rng, dtype, 2 * SPAN // dtype.itemsize + beyond).items():
        for offset in (0, dtype.itemsize, 3):
            found = kernel(bits.tobytes(), dtype, Mode.FULL_HEALTH, offset)
            np.testing.assert_equal(tuple(found), plain_numpy(bits, dtype), err_msg=f"{kind}, {offset}")


def test_a_zero_at_the_end_of_the_range_has_no_sign(kernel: Any) -> None:
    for values in ([-0.0, 1.0], [-1.0, -0.0], [-0.0], [-0.0, 1.0, np.nan], [-0.0, 0.0], [0.0, -0.0]):
        for name in SWEPT_AS_BITS:
            raw, dtype = bits_of(np.array(values), BY_NAME[name]).tobytes(), BY_NAME[name]
            for found in (kernel(raw, dtype, Mode.FULL_HEALTH), measure_health(raw, dtype.number, Mode.FULL_HEALTH)):
                assert [math.copysign(1, end) for end in (found.min, found.max) if end == 0].count(-1) == 0


def test_a_tensor_with_a_known_answer(kernel: Any) -> None:
    values = np.array([-0.0, 0.0, 1e-45, -1e-45, 3.0, -1.0, np.inf, np.nan, -np.inf, np.inf], np.float32)
    found = kernel(values.tobytes(), BY_NAME["float32"], Mode.FULL_NUMERICS)
    assert found[:7] == (10, 1, 2, 1, 2, 2, 2)
    assert (found.min, found.max, found.first_bad) == (-1.0, 3.0, 6)
    assert found.mean == pytest.approx(1 / 3)
    assert found.std == pytest.approx(math.sqrt(10 / 6 - 1 / 9))


def test_a_complex_tensor_with_a_known_answer(kernel: Any) -> None:
    inf, nan = math.inf, math.nan
    values = np.array([3 + 4j, -5 + 12j, 0, -1j, complex(1, -inf), complex(-inf, inf), complex(inf, nan)])
    for name in ("complex64", "complex128"):
        found = kernel(values.astype(name).tobytes(), BY_NAME[name], Mode.FULL_NUMERICS)
        assert found[:7] == (7, 2, 0, 1, 1, 1, 2)
        assert (found.min, found.max, found.mean, found.first_bad) == (0.0, 13.0, 4.75, 4)


def test_a_small_spread_far_from_zero(kernel: Any) -> None:
    values = 1e6 + np.arange(100_000, dtype=np.float64) % 7 * 1e-6
    found = kernel(values.tobytes(), BY_NAME["float64"], Mode.FULL_NUMERICS)
    assert found.std == pytest.approx(np.std(values - 1e6), rel=1e-9)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3, 4, 5, 6), (3, 0, 2)])
def test_twin_takes_arrays_of_any_shape(kernel: Any, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).normal(size=shape + (2,)).astype(np.float32)[..., 0]
    flat = np.ascontiguousarray(array).tobytes()
    same(
        kernel(flat, BY_NAME["float32"], Mode.FULL_NUMERICS),
        measure_health(array, 1, Mode.FULL_NUMERICS),
        BY_NAME["float32"],
    )


@pytest.mark.parametrize("name", [name for name in BY_NAME if name.startswith(("float8", "bfloat16"))])
def test_small_floats_mean_what_ml_dtypes_says(kernel: Any, name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = BY_NAME[name]
    bits = np.arange(256 if dtype.itemsize == 1 else 65536, dtype=f"u{dtype.itemsize}")
    for one in bits if dtype.itemsize == 1 else bits[::37]:
        value = float(one.view(getattr(ml_dtypes, dtype.name)))
        found = kernel(one.tobytes(), dtype, Mode.FULL_HEALTH)
        assert found.nan == math.isnan(value)
        assert (found.pos_inf, found.neg_inf) == (value == math.inf, value == -math.inf)
        assert found.min == value or not math.isfinite(value)


@pytest.mark.parametrize("name", ["string", "resource", "variant", "int4", "float4_e2m1fn"])
def test_what_is_no_number_is_only_counted(library: ctypes.CDLL, name: str) -> None:
    out = CHealth()
    library.sleuth_health(b"\x01" * 12, 12, BY_NAME[name].number, Mode.FULL_TENSOR, -1, ctypes.byref(out))
    assert as_health(out) == TensorHealth(12)
    assert measure_health(np.ones(12, np.uint8), BY_NAME[name].number, Mode.FULL_TENSOR) == TensorHealth(12)
