"""The parts of the native library that need no TensorFlow, under sanitizers: `tests/native/` has what they do."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tensorsleuth.native import build

pytestmark = pytest.mark.long

DRIVERS = Path(__file__).resolve().parents[1] / "native"
NEED_TENSORFLOW = {"ops/checked.cc", "ops/expect.cc", "ops/points.cc", "ops/probe.cc"}
FLAGS = ["-O1", "-g", "-std=c++17", "-pthread", "-Wall", "-Wextra", "-fno-omit-frame-pointer"]
SANITIZERS = {
    "address,undefined": {"UBSAN_OPTIONS": "print_stacktrace=1"},
    "thread": {"TSAN_OPTIONS": f"halt_on_error=1:history_size=7:suppressions='{DRIVERS / 'tsan.supp'}'"},
}
SCENARIOS = [
    "ring-wraps",
    "ring-sleeper",
    "ring-keeps-all",
    "ring-reopens",
    "recording-restarts",
    "recording-many-threads",
    "recording-values",
    "recording-late-values",
    "recording-forks",
    "breaks",
    "watches",
    "inside",
    "guard",
    "runs",
    "observers-fork",
    "health",
    "measures",
    "changes",
    "attention",
    "rows",
    "expectations",
    "damaged-graphs",
    "watched-functions",
    "functions-fork",
    "held",
    "held-forks",
    "births",
    "births-fork",
]


@dataclass
class Driver:
    """A program that runs one scenario, and what has to stand before it on a command line."""

    program: Path
    options: dict[str, str]
    before: list[str] = field(default_factory=list)

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [*self.before, self.program, *arguments]
        return subprocess.run(
            command, env={**os.environ, **self.options}, capture_output=True, text=True, timeout=600, check=False
        )


@pytest.fixture(scope="session", params=SANITIZERS)
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    """Compiled once for all scenarios."""
    try:
        compiler = build.find_compiler()
    except build.BuildError as error:
        pytest.skip(str(error))
    scratch = tmp_path_factory.mktemp("driver")
    flags = [*FLAGS, f"-fsanitize={request.param}", "-fno-sanitize-recover=all"]
    ready = Driver(scratch / "driver", SANITIZERS[request.param], wrapper(compiler, flags, scratch))
    without = {build.SOURCES / name for name in NEED_TENSORFLOW}
    sources = [path for path in build.SOURCES.rglob("*.cc") if path not in without]
    compile_all(compiler, flags, [*sources, *DRIVERS.glob("*.cc")], ready.program)
    return ready


def wrapper(compiler: str, flags: Sequence[str], scratch: Path) -> list[str]:
    """What a program with this sanitizer is started by, tried on an empty one. Skips where it cannot be had."""
    source = scratch / "empty.cc"
    source.write_text("int main() {}\n")
    empty = Driver(scratch / "empty", {})
    built = subprocess.run([compiler, *flags, source, "-o", empty.program], capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"{compiler} has no such sanitizer: {built.stderr.strip()[-300:]}")
    # If the kernel randomizes addresses over more bits than ThreadSanitizer supports, randomization must be off.
    said = ""
    for before in ([], ["setarch", platform.machine(), "-R"]):
        empty.before = before
        try:
            ran = empty.run()
        except FileNotFoundError as error:  # no setarch
            said += str(error)
            continue
        if not ran.returncode:
            return before
        said += ran.stderr
    pytest.skip(f"no program runs with this sanitizer here: {said.strip()[-300:]}")


def compile_all(compiler: str, flags: Sequence[str], sources: Sequence[Path], program: Path) -> None:
    objects = [program.with_name(f"{number}.o") for number in range(len(sources))]
    flags = [*flags, f"-I{build.SOURCES}", f"-I{DRIVERS}"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda made: build.run([compiler, *flags, "-c", made[0], "-o", made[1]]), zip(sources, objects)))
    build.run([compiler, *flags, *objects, "-ldl", "-o", program])


def test_all_scenarios_are_run(driver: Driver) -> None:
    assert driver.run().stdout.split() == SCENARIOS


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nothing_is_found(driver: Driver, scenario: str, tmp_path: Path) -> None:
    done = driver.run(scenario, tmp_path)
    if done.returncode:
        pytest.fail(f"{scenario} ended with {done.returncode}:\n{done.stderr[:10_000]}", pytrace=False)
