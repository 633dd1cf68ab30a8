"""The wheel: one for every Python of a platform, and nothing but Python needed where it is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "src" / "tensorsleuth" / "native" / "build.py"
LIBRARY = "tensorsleuth/native/libsleuth.so"
LOOK = "tensorsleuth/native/libsleuth_look.so"


def run(
    *command: str | Path, check: bool = True, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=cwd)
    assert done.returncode == 0 or not check, f"{done.args} failed:\n{done.stdout}\n{done.stderr}"
    return done


def package(kind: str, project: Path, into: Path, **environment: str) -> Path:
    """The one file that `python -m build` makes."""
    built = try_package(kind, project, into, **environment)
    assert built.returncode == 0, built.stdout + built.stderr
    return next(into.glob("tensorsleuth-*"))


def try_package(kind: str, project: Path, into: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", into, project)
    return run(*command, check=False, env={**os.environ, **environment})


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package("wheel", ROOT, tmp_path_factory.mktemp("wheel"), SLEUTH_REQUIRE_NATIVE="1", SLEUTH_REQUIRE_PAGE="1")


@pytest.fixture(scope="module")
def clean_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel and its dependencies, made with no compiler in reach."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True)
    install = (folder / "bin" / "python", "-m", "pip", "install", "-qq", "--only-binary", ":all:", wheel)
    run(*install, env=without_compiler(folder))
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution."""
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(package("sdist", ROOT, folder)) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def without_compiler(environment: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PATH": str(environment / "bin"), "CXX": "g++"}


def test_one_wheel_serves_every_python(wheel: Path) -> None:
    assert re.fullmatch(r"tensorsleuth-[\d.]+-py3-none-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(next(name for name in archive.namelist() if name.endswith("/WHEEL"))).decode()
    assert "Root-Is-Purelib: false" in metadata


def test_wheel_carries_library_and_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {LIBRARY, "tensorsleuth/demo/digits.npz", "tensorsleuth/demo/digits_mlp.py"} <= names
    assert {"tensorsleuth/ui/web/static/index.html", "tensorsleuth/ui/web/report/report.css"} <= names
    assert [name for name in names if re.fullmatch(r"tensorsleuth/ui/web/static/assets/index-[\w-]+\.js", name)]
    assert not [name for name in names if "__pycache__" in name or ".build-" in name]


def test_library_asks_for_tensorflow_and_brings_its_own_cpp(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract(LIBRARY, tmp_path)
    needed = set(re.findall(r"NEEDED.*\[(.+)\]", run("readelf", "-d", library).stdout))
    assert "libtensorflow_framework.so.2" in needed
    assert not [name for name in needed if re.match(r"libstdc\+\+|libgcc|libpython|libtensorflow_cc", name)]


def test_library_shows_only_its_own_names(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract(LIBRARY, tmp_path)
    shown = [line.split()[-1] for line in run("nm", "-D", "--defined-only", library).stdout.splitlines()]
    assert shown
    assert not [name for name in shown if not re.match("sleuth_|TF_InitGraph", name)]


def test_command_runs_where_there_is_no_compiler(clean_environment: Path, tmp_path: Path) -> None:
    bare = without_compiler(clean_environment)
    done = run(clean_environment / "bin" / "sleuth", "--help", env=bare, cwd=tmp_path)
    assert "Usage: sleuth" in done.stdout


def test_package_imports_without_tensorflow_and_beside_its_library(clean_environment: Path, tmp_path: Path) -> None:
    show = "import tensorsleuth.native; print(tensorsleuth.native.__file__)"
    python, bare = clean_environment / "bin" / "python", without_compiler(clean_environment)
    package_file = Path(run(python, "-c", show, env=bare, cwd=tmp_path).stdout.strip())
    assert package_file.is_relative_to(clean_environment)
    assert package_file.with_name("libsleuth.so").is_file()


def test_source_builds_without_a_compiler_and_says_what_is_missing(source: Path, tmp_path: Path) -> None:
    done = try_package("wheel", source, tmp_path, CXX="no-such-compiler")
    assert [path.name.endswith("-py3-none-any.whl") for path in tmp_path.iterdir()] == [True]
    assert "no-such-compiler is not on PATH" in done.stdout + done.stderr
    assert "apt-get install g++" in done.stdout + done.stderr


def test_published_wheel_is_never_without_library(source: Path, tmp_path: Path) -> None:
    done = try_package("wheel", source, tmp_path, CXX="no-such-compiler", SLEUTH_REQUIRE_NATIVE="1")
    assert done.returncode != 0
    assert not list(tmp_path.iterdir())
    assert "no-such-compiler is not on PATH" in done.stdout + done.stderr


def test_source_has_all_that_the_library_is_made_of(source: Path) -> None:
    shipped = {path.name for path in (source / "src/tensorsleuth/native/src").rglob("*.*")}
    assert shipped == {path.name for path in (BUILD.parent / "src").rglob("*.*") if path.suffix in (".cc", ".h")}
    assert not list(source.rglob("*.so"))


def test_library_is_compiled_only_when_its_sources_are_newer(tmp_path: Path) -> None:
    output = tmp_path / "libsleuth.so"
    both = output, output.with_name(Path(LOOK).name)
    for library in both:
        library.write_bytes(b"made before")
    run(sys.executable, BUILD, output)
    assert [library.read_bytes() for library in both] == [b"made before"] * 2
    os.utime(output, (0, 0))
    failed = run(sys.executable, BUILD, output, check=False, env={**os.environ, "CXX": "no-such-compiler"})
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: the native library needs a C++ compiler")


def test_installed_wheel_serves_the_page(clean_environment: Path, tmp_path: Path) -> None:
    bare = without_compiler(clean_environment)
    make = (
        "import pathlib as p; from tensorsleuth.trace.storage.synthetic import write; write(p.Path('runs/first'), 2000)"
    )
    run(clean_environment / "bin" / "python", "-c", make, env=bare, cwd=tmp_path)
    command = (clean_environment / "bin" / "sleuth", "view", "--logdir", "runs", "--port", "0", "--no-browser")
    with subprocess.Popen(command, env=bare, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = re.findall(r"http://\S+?/", process.stderr.readline())[0]
        try:
            index = urlopen(address).read().decode()
            scripts = re.findall(r'src="\./(assets/[^"]+\.js)"', index)
            assert len(scripts) == 1 and b"tensors" in urlopen(address + scripts[0]).read()
            assert json.loads(urlopen(f"{address}api/runs").read())["items"][0]["name"] == "first"
        finally:
            process.terminate()


def test_source_has_the_page_and_what_it_is_made_of(source: Path) -> None:
    assert (source / "src/tensorsleuth/ui/web/static/index.html").is_file()
    assert (source / "web" / "src" / "main.tsx").is_file() and (source / "web" / "package-lock.json").is_file()
    assert not (source / "web" / "node_modules").exists()


def without_npm(folder: Path) -> str:
    """A PATH with this Python and the usual tools, but no npm and no node."""
    hidden = folder / "bin"
    hidden.mkdir()
    for tool in ("sh", "env", "g++", "gcc", "cc", "as", "ld", "ar", "python3", "git"):
        found = shutil.which(tool)
        if found:
            (hidden / tool).symlink_to(found)
    return str(hidden)


@pytest.fixture
def changed_source(source: Path, tmp_path: Path) -> Path:
    """Sources of which no page was built."""
    copy = tmp_path / "changed"
    shutil.copytree(source, copy)
    shutil.rmtree(copy / "src/tensorsleuth/ui/web/static")
    return copy


def test_source_builds_without_npm_and_says_what_is_missing(changed_source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = try_package("wheel", changed_source, out, PATH=without_npm(tmp_path), CXX="no-such-compiler")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "the page needs npm" in done.stdout + done.stderr and "sleuth view` will not work" in done.stdout + done.stderr
    )


def test_published_wheel_is_never_without_page(changed_source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = try_package("wheel", changed_source, out, PATH=without_npm(tmp_path), SLEUTH_REQUIRE_PAGE="1")
    assert done.returncode != 0 and not list(out.glob("*.whl")) and "the page needs npm" in done.stdout + done.stderr
