"""What unit tests share."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorsleuth import native

SOURCES = Path(native.__file__).parent / "src"
# The parts of the native library that do not call TensorFlow.
PARTS = (
    "observers/breaks.cc",
    "files/buffers.cc",
    "memory/cgroup.cc",
    "memory/memory_sampler.cc",
    "kernels/change.cc",
    "observers/guard.cc",
    "files/ring.cc",
    "recording.cc",
    "tf1_runs.cc",
    "files/shapes.cc",
    "files/threads.cc",
    "files/values.cc",
    "files/op_ends.cc",
    "kernels/measure.cc",
    "kernels/attention.cc",
    "observers/input_rows.cc",
    "observers/layer_stats.cc",
    "observers/watches.cc",
    "kernels/health.cc",
    "kernels/health_portable.cc",
    "kernels/health_float8.cc",
)
HAMMER = """
#include <thread>
#include <vector>
#include "recording.h"
// Notes `each` tensors on each of `threads` threads: thread t writes tensor t + 1, steps from .. from + each - 1.
// The tensor of step `bad` holds a NaN.
extern "C" __attribute__((visibility("default")))
void hammer(int threads, uint64_t from, uint64_t each, uint64_t bad, int look, int elements) {
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([=] {
      std::vector<float> values(elements + 0ul);
      for (uint64_t step = from; step < from + each; ++step) {
        values[0] = step == bad ? __builtin_nanf("") : float(step);
        sleuth::TensorView view{values.data(), uint64_t(elements), 4ull * uint64_t(elements), 1, 1, {elements}};
        sleuth::note(view, look, {step, uint32_t(t + 1), 0, 0, sleuth::kGraph});
      }
    });
  for (auto& thread : pool) thread.join();
}
"""


@pytest.fixture(scope="session")
def build_library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles C++ sources into a library of that name."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")

    def build(name: str, *sources: Path, flags: tuple[str, ...] = ("-shared",)) -> Path:
        target = tmp_path_factory.mktemp("native") / name
        command = [compiler, "-O1", "-fPIC", "-std=c++17", "-pthread", f"-I{SOURCES}", *flags]
        subprocess.run([*command, *sources, "-o", target], check=True)
        return target

    return build


@pytest.fixture(scope="session")
def recorder_path(build_library: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native library less what needs TensorFlow, and `hammer`; compiled once for all workers of the session."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "recorder"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (library := folder / "librecorder.so").exists():
            (folder / "hammer.cc").write_text(HAMMER)
            sources = [*(SOURCES / part for part in PARTS), *SOURCES.glob("kernels/health_avx*.cc")]
            build_library("librecorder.so", *sources, folder / "hammer.cc").rename(library)
    return library


@pytest.fixture(scope="session")
def recorder(recorder_path: Path) -> ctypes.CDLL:
    return load_recorder(recorder_path)


def load_recorder(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    library.hammer.argtypes = [ctypes.c_int, *[ctypes.c_uint64] * 3, ctypes.c_int, ctypes.c_int]
    library.hammer.restype = None
    library.sleuth_next_call.restype = library.sleuth_events.restype = ctypes.c_uint64
    library.sleuth_alarm.restype = ctypes.c_uint64
    return library
