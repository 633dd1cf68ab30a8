"""How fast the health kernels read float32 that is in cache, against a bare maximum over the same numbers."""

from __future__ import annotations

import ctypes
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

SOURCES = Path(__file__).parents[1] / "src/tensorsleuth/native/src"
FLAGS = ["-O3", "-fPIC", "-std=c++17", "-shared", "-fvisibility=hidden", f"-I{SOURCES}"]
LOOKS = {"concise": 3, "full": 4, "numerics": 5}
ROUNDS, CALLS = 60, 20
FLOAT32, BEST = 1, -1


def measure() -> dict[str, dict[str, float]]:
    """For each size: the GB/s of np.max, and each look's share of it; medians of interleaved rounds."""
    library = _build()
    return {f"{size >> 10} KiB": _shares(library, size) for size in (256 << 10, 1 << 20)}


def _shares(library: ctypes.CDLL, size: int) -> dict[str, float]:
    data = np.random.default_rng(0).normal(size=size // 4).astype(np.float32)
    contenders = {"max": data.max} | {name: _looker(library, data, look) for name, look in LOOKS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, run in contenders.items():
            seconds[name].append(_time(run))
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    shares = {name: round(middle["max"] / middle[name], 2) for name in LOOKS}
    return {"max GB/s": round(size / middle["max"] / 1e9, 1), **shares}


def _time(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        run()
    return (time.perf_counter() - start) / CALLS


def _looker(library: ctypes.CDLL, data: np.ndarray, look: int) -> Callable[[], object]:
    out = ctypes.create_string_buffer(96)
    arguments = (ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(data.size), FLOAT32, look, BEST, out)
    return lambda: library.sleuth_health(*arguments)


def _build() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "health.so")
        subprocess.run(["g++", *FLAGS, *sorted(SOURCES.glob("kernels/health*.cc")), "-o", target], check=True)
        return ctypes.CDLL(str(target))


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
