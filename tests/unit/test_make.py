"""The environments of `make`: what each target installs, and how `tools/install.py` shows progress."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALL = ROOT / "tools" / "install.py"
PIP = """#!/bin/sh
echo "pip: $@"
printf '%2000000s' ' ' > "$(dirname "$0")/package"
exit {code}
"""


def environment(folder: Path, code: int = 0) -> Path:
    """Return an environment whose Python says what it is asked to do, and installs 2 MB."""
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PIP.format(code=code))
    python.chmod(0o755)
    return folder / ".venv"


def install(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(INSTALL), ".venv", "two things", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def dry_run(folder: Path, *targets: str) -> str:
    """Return what make would run in a checkout without environments, but for stamps that `folder` has."""
    (folder / "Makefile").write_text((ROOT / "Makefile").read_text())
    for name in ("pyproject.toml", "hatch_build.py"):
        (folder / name).touch()
        os.utime(folder / name, (1, 1))
    done = subprocess.run(["make", "-n", *targets], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_stage_has_a_line_before_and_after_with_time_and_size(tmp_path: Path) -> None:
    environment(tmp_path)
    done = install(tmp_path, "--editable", ".", "package==1")
    first, pip, last = done.stdout.splitlines()
    assert done.returncode == 0
    assert first == ".venv: installing two things …"
    assert pip == "pip: -m pip install --disable-pip-version-check -qq --editable . package==1"
    assert re.fullmatch(r"\.venv: installed two things in \d+ s · 2 MB on disk \(\+2\)", last)


def test_on_a_terminal_pip_draws_its_progress_bars(tmp_path: Path) -> None:
    environment(tmp_path)
    ours, theirs = pty.openpty()
    command = [sys.executable, str(INSTALL), ".venv", "two things", "package"]
    subprocess.run(command, cwd=tmp_path, stdout=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "pip: -m pip install --disable-pip-version-check package" in shown, "quiet, it draws none"


def test_a_stage_that_fails_stops_make(tmp_path: Path) -> None:
    environment(tmp_path, code=3)
    done = install(tmp_path, "package")
    assert done.returncode == 3
    assert "failed after" in done.stdout.splitlines()[-1]


def test_the_environment_is_made_where_it_is_missing(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, str(INSTALL), ".venv", "nothing", "--help"], cwd=tmp_path, capture_output=True, check=False
    )
    assert made.returncode == 0 and (tmp_path / ".venv" / "bin" / "pip").exists()


def test_demo_installs_neither_tools_nor_the_page(tmp_path: Path) -> None:
    said = dry_run(tmp_path, "demo")
    assert "--editable . 'tensorflow-cpu==" in said and said.count("tools/install.py") == 1
    assert all(word not in said for word in ("[dev]", "transformers", "web/build.py"))
    assert "make page" in said, "says how to get the page"


def test_test_adds_the_tools_to_what_the_demo_installed(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".demo").touch()
    said = dry_run(tmp_path, "test-fast")
    assert "'.[dev]'" in said and "--editable . " not in said


@pytest.mark.parametrize("target", ["demo", "venv", "test-fast"])
def test_what_is_installed_is_not_installed_again(tmp_path: Path, target: str) -> None:
    (tmp_path / ".venv").mkdir()
    for stamp in (".demo", ".ready"):
        (tmp_path / ".venv" / stamp).touch()
    assert "tools/install.py" not in dry_run(tmp_path, target)


def test_a_new_dependency_is_installed_everywhere(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    for stamp in (".demo", ".ready"):
        (tmp_path / ".venv" / stamp).touch()
        os.utime(tmp_path / ".venv" / stamp, (0, 0))
    said = dry_run(tmp_path, "venv")
    assert "--editable . " in said and "'.[dev]'" in said
