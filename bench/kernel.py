"""How fast the health kernels read floats, in cache and out of it, against a bare maximum over the same bytes."""

from __future__ import annotations

import ctypes
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

SOURCES = Path(__file__).parents[1] / "src/tensorsleuth/native/src"
FLAGS = ["-O3", "-fPIC", "-std=c++17", "-shared", "-fvisibility=hidden", f"-I{SOURCES}"]
LOOKS = {"concise": 3, "full": 4, "numerics": 5}
DTYPES = {"float32": 1, "float16": 19, "bfloat16": 14, "float64": 2}
SIZES = (256 << 10, 1 << 20, 64 << 20)  # in bytes: in L2, at its edge, in memory
BYTES_A_TURN, BEST = 4 << 20, -1

Array = np.ndarray[Any, Any]


def measure(progress: Callable[[str], None], rounds: int) -> dict[str, dict[str, float]]:
    """For each type and size: the GB/s of np.max, and each look's share of it; medians of interleaved rounds."""
    library, shares = _build(), {}
    for size, name in product(SIZES, DTYPES):
        case = f"{name}, {size >> 10} KiB"
        progress(f"the health kernel against max(): {case}")
        shares[case] = _shares(library, name, size, rounds)
    return shares


def _shares(library: ctypes.CDLL, name: str, size: int, rounds: int) -> dict[str, float]:
    data = _normal(name, size)
    contenders: dict[str, Callable[[], object]] = {"max": _comparable(data).max}
    contenders |= {look: _looker(library, data, DTYPES[name], number) for look, number in LOOKS.items()}
    seconds: dict[str, list[float]] = {contender: [] for contender in contenders}
    calls = max(1, BYTES_A_TURN // size)
    for i in range(rounds):
        for contender, run in list(contenders.items())[:: -1 if i % 2 else 1]:
            seconds[contender].append(_time(run, calls))
    shares = {look: median(bare / ours for bare, ours in zip(seconds["max"], seconds[look])) for look in LOOKS}
    return {"max GB/s": round(size / median(seconds["max"]) / 1e9, 1), **{k: round(v, 2) for k, v in shares.items()}}


def _normal(name: str, size: int) -> Array:
    """Normal values of a type; bfloat16, which NumPy lacks, as its bits."""
    values = np.random.default_rng(0).normal(size=size // (8 if name == "float64" else 4)).astype(np.float64)
    if name == "float64":
        return values
    if name == "float32":
        return values.astype(np.float32)
    values = np.concatenate([values, -values])
    return (
        values.astype(np.float16)
        if name == "float16"
        else (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    )


def _comparable(data: Array) -> Array:
    """The array of which np.max is fast: NumPy has no vector instructions for 16-bit floats, but for their bits."""
    return data.view(np.int16) if data.itemsize == 2 else data


def _time(run: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def _looker(library: ctypes.CDLL, data: Array, dtype: int, look: int) -> Callable[[], object]:
    out = ctypes.create_string_buffer(96)
    arguments = (ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(data.size), dtype, look, BEST, out)
    return lambda: library.sleuth_health(*arguments)


def _build() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "health.so")
        subprocess.run(["g++", *FLAGS, *sorted(SOURCES.glob("kernels/health*.cc")), "-o", target], check=True)
        return ctypes.CDLL(str(target))


if __name__ == "__main__":
    print(json.dumps(measure(print, 60), indent=2))
