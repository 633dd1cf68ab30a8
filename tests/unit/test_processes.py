"""A test that leaves a process behind fails, and the process is ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests import processes, warm_python

LEAKING = """
import subprocess

def test_child():
    subprocess.Popen(["sleep", "600"])

def test_orphan():
    subprocess.run(["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 &"], check=True)

def test_ended():
    subprocess.run(["true"], check=True)
"""
OUTLIVED = """
import pytest, time

@pytest.mark.timeout(1)
def test_waits():
    time.sleep(600)

@pytest.mark.timeout(1)
def test_stuck_in_native_code():
    import ctypes
    lock = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.PyDLL(None).pthread_mutex_lock(lock)  # keeps Python's own lock: no signal is answered
"""


def run_tests(folder: Path, text: str) -> str:
    """Return what pytest prints about a file of tests that have our conftest, with less patience."""
    shorter = "from tests import conftest, processes; processes.GRACE_SECONDS = conftest.STUCK_SECONDS = 1.0\n"
    (folder / "conftest.py").write_text(f"{shorter}from tests.conftest import *\n")
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider", "-c", "pyproject.toml"]
    command += [f"--confcutdir={folder}", f"--rootdir={folder}", str(folder)]
    done = subprocess.run(command, cwd=warm_python.REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_a_test_that_leaves_a_process_fails(tmp_path: Path) -> None:
    said = run_tests(tmp_path, LEAKING)
    assert "the test left processes running" in said and "sleep 600" in said
    assert "2 errors" in said and "ERROR" in said and "test_ended" not in said


def test_a_test_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    said = run_tests(tmp_path, OUTLIVED)
    assert "Timeout (>1.0s)" in said
    assert "crashed while running" in said and "test_stuck_in_native_code" in said
    assert "Timeout (0:00:02)!" in said and "test_it.py" in said.partition("Timeout (0:00:02)!")[2], (
        "where it was stuck"
    )


def test_processes_that_are_kept_are_no_leak() -> None:
    before = processes.children()
    with processes.kept():
        child = subprocess.Popen(["sleep", "600"])
    assert child.pid in processes.children() and processes.left_behind(before) == {}
    processes.end([child.pid])
    child.returncode = 0  # it was waited for


@pytest.mark.parametrize(("code", "status"), [("raise SystemExit(3)", 3), ("1 / 0", 1), ("import os; os.abort()", -6)])
def test_a_fork_ends_as_python_would(code: str, status: int, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    bare = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path, check=False)
    assert warm_python.shared().run("-c", code).returncode == bare.returncode == status
