"""How much of this package runs while a small program is recorded and diagnosed: what it does not use is not made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MOST_FILES = 35
MOST_FILES_TO_DIAGNOSE = 38  # two of them let threads of the program parse beside us (core/threads)
TRACE = """
import json, os, sys, threading
import tensorsleuth

package = os.path.dirname(tensorsleuth.__file__) + os.sep
run = set()

def trace(frame, event, argument):
    code = frame.f_code
    if code.co_filename.startswith(package) and code.co_flags & 1 and not in_import(frame):  # 1: of a function
        run.add(code.co_filename[len(package):])

def in_import(frame):
    while frame is not None and frame.f_code.co_filename.startswith(package):
        if not frame.f_code.co_flags & 1:
            return True
        frame = frame.f_back
    return False
"""
RECORD = """
import tensorflow as tf
threading.settrace(trace)
sys.settrace(trace)
with tensorsleuth.record(sys.argv[1]):
    x = tf.constant([1.0, -1.0])
    y = tf.math.log(x)
    print(y)
sys.settrace(None)
print(json.dumps(sorted(run)))
"""
DIAGNOSE = """
(recorded,) = os.listdir(sys.argv[1])
sys.settrace(trace)
diagnosis = tensorsleuth.diagnose(os.path.join(sys.argv[1], recorded))
sys.settrace(None)
assert [finding.cause for finding in diagnosis] == ["log-negative"] and diagnosis.end.kind == "finished"
assert "tensorflow" not in sys.modules
print(json.dumps(sorted(run)))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def run_files(program: str, runs: Path) -> list[str]:
    """The files of this package whose functions a program calls."""
    command = [sys.executable, "-c", TRACE + program, str(runs)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLEUTH_")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [Path(name).as_posix() for name in json.loads(done.stdout.splitlines()[-1])]


@pytest.fixture(scope="module")
def files_run(runs: Path) -> list[str]:
    """The files that run from `record()` to the end of the recording."""
    return run_files(RECORD, runs)


@pytest.fixture(scope="module")
def files_to_diagnose(files_run: list[str], runs: Path) -> list[str]:
    """The files that run to find the line and the cause of its one NaN."""
    return run_files(DIAGNOSE, runs)


def test_a_small_program_runs_few_files(files_run: list[str]) -> None:
    assert len(files_run) <= MOST_FILES, files_run


def test_what_a_program_does_not_use_is_not_made(files_run: list[str]) -> None:
    unused = ("recording/sessions/", "recording/replay/", "recording/cluster/", "recording/eager/text")
    assert not [name for name in files_run if name.startswith(unused)]
    assert "recording/functions/watched_functions.py" not in files_run


def test_one_nan_is_explained_by_few_files(files_to_diagnose: list[str]) -> None:
    assert len(files_to_diagnose) <= MOST_FILES_TO_DIAGNOSE, files_to_diagnose


def test_what_was_not_recorded_is_not_asked_about(files_to_diagnose: list[str]) -> None:
    unused = ("attention", "exits", "inputs", "leaks", "training")
    assert not [name for name in files_to_diagnose if name.startswith(tuple(f"diagnose/{one}/" for one in unused))]
    assert not [name for name in files_to_diagnose if name.startswith(("trace/series/", "analyze/"))]
