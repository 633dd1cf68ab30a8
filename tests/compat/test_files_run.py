"""How much of this package runs while a small program is recorded: what it does not use is not made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MOST_FILES = 49
PROGRAM = """
import json, os, sys, threading
import tensorflow as tf
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

threading.settrace(trace)
sys.settrace(trace)
with tensorsleuth.record(sys.argv[1]):
    x = tf.constant([1.0, -1.0])
    y = tf.math.log(x)
    print(y)
sys.settrace(None)
print(json.dumps(sorted(run)))
"""


@pytest.fixture(scope="module")
def files_run(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files of this package whose functions are called, from `record()` to the end of the recording."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("runs"))]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLEUTH_")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return [Path(name).as_posix() for name in json.loads(done.stdout.splitlines()[-1])]


def test_a_small_program_runs_few_files(files_run: list[str]) -> None:
    assert len(files_run) <= MOST_FILES, files_run


def test_what_a_program_does_not_use_is_not_made(files_run: list[str]) -> None:
    unused = ("recording/sessions/", "recording/replay/", "recording/cluster/", "recording/eager/text")
    assert not [name for name in files_run if name.startswith(unused)]
    assert "recording/functions/watched_functions.py" not in files_run
