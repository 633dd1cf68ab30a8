"""The wheels of `make wheel`: each builds from the source distribution, it installs, and it names the line of a NaN."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest
from tools import wheels

from tensorsleuth.native import build

PROGRAM = """import tensorflow as tf
x = tf.constant([1.0, 0.0])
y = tf.math.log(x) * 0.0
print(y)
"""
DRIVERS = Path(__file__).resolve().parents[1] / "native"
NEED_TENSORFLOW = ("checked.cc", "expect.cc", "points.cc", "probe.cc")
KERNEL_SCENARIOS = ("health", "measures", "changes", "attention", "rows")
CROSS, QEMU = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64")
needs_cross = pytest.mark.skipif(
    CROSS is None, reason="no aarch64-linux-gnu-g++: apt-get install g++-aarch64-linux-gnu"
)
needs_qemu = pytest.mark.skipif(QEMU is None, reason="no qemu-aarch64: apt-get install qemu-user")
needs_zig = pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="no zig: pip install '.[wheels]'")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, f"{done.args} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files by what their names end with."""
    made = wheels.build_all(tmp_path_factory.mktemp("published"))
    return {re.split(r"_(?=x86|aarch)|-0.1.0\.", path.name)[-1]: path for path in made}


@needs_zig
@pytest.mark.long
def test_tags_are_those_of_old_systems(published: dict[str, Path]) -> None:
    assert {*published} == {"tar.gz", "x86_64.whl", "aarch64.whl"}
    for processor in wheels.PROCESSORS:
        assert f"-py3-none-manylinux2014_{processor}.manylinux_2_17_" in published[f"{processor}.whl"].name


@needs_zig
@pytest.mark.long
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="installs the wheel for x86-64")
def test_installed_wheel_names_the_line(published: dict[str, Path], tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "-qq", "--only-binary", ":all:", published["x86_64.whl"])
    # TensorFlow comes from this environment, after everything that was installed.
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "tensorflow.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (tmp_path / "nan.py").write_text(PROGRAM)
    said = run(environment / "bin" / "sleuth", "run", "nan.py", cwd=tmp_path)
    assert "nan.py:3 takes log(0)" in said
    loaded = (
        "import tensorflow; from tensorsleuth.native import loader; print(loader.LIBRARY, loader.load() is not None)"
    )
    last = run(python, "-c", loaded, cwd=tmp_path)
    assert f"{site / 'tensorsleuth/native/libsleuth.so'} True" in last


@needs_cross
def test_kernels_compile_for_aarch64(tmp_path: Path) -> None:
    assert CROSS is not None
    for name in ("health", "rows_look"):  # small ones, with everything that depends on the processor
        source = build.SOURCES / "kernels" / f"{name}.cc"
        run(CROSS, *build.COMPILE_OPTIONS, "-O0", "-Werror", "-c", source, "-o", tmp_path / f"{name}.o")


@pytest.fixture(scope="module")
def aarch64_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert CROSS is not None
    folder = tmp_path_factory.mktemp("aarch64")
    sources = [path for path in build.SOURCES.rglob("*.cc") if path.name not in NEED_TENSORFLOW]
    flags = ("-O1", "-std=c++17", "-pthread", "-static", "-w", f"-I{build.SOURCES}", f"-I{DRIVERS}")
    run(CROSS, *flags, *sources, *DRIVERS.glob("*.cc"), "-o", folder / "driver")
    return folder / "driver"


@needs_cross
@needs_qemu
@pytest.mark.long
@pytest.mark.parametrize("scenario", KERNEL_SCENARIOS)
def test_kernels_run_on_aarch64(aarch64_driver: Path, scenario: str, tmp_path: Path) -> None:
    assert QEMU is not None
    run(QEMU, aarch64_driver, scenario, tmp_path)
