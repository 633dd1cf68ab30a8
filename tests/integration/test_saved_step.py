"""A step that went bad, saved with its run, copied out, and run again where the program is not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests import warm_python

PROGRAM = """
import numpy as np, tensorflow as tf

words = tf.constant([b"a", b"bb"])
table = tf.Variable([[1.0, 2.0], [3.0, 0.0]])
data = iter(tf.data.Dataset.from_tensor_slices(np.arange(4, dtype=np.int32)).repeat())

@tf.function
def step(data, words):
    at = next(data)
    noise = tf.random.uniform([2]) * 1e-38
    longest = tf.cast(tf.reduce_max(tf.strings.length(words)), tf.float32)
    ratio = longest / (table[at % 2] + noise)  # divides
    table.assign_add(tf.ones([2, 2], tf.float32) * 0.0)
    return tf.reduce_sum(ratio)

for _ in range(3):
    print(float(step(data, words)))
"""


def sleuth(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm_python.shared().sleuth(*arguments, cwd=cwd, env={"COLUMNS": "100"})


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds nothing but a saved step."""
    home, away = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("away")
    program = home / "train.py"
    program.write_text(PROGRAM)
    ran = sleuth("run", "--mode", "FLIGHT", "train.py", cwd=home)
    assert "train.py:13" in ran.stderr, ran.stderr
    copied = sleuth("save-step", "--to", str(away / "step"), cwd=home)
    assert copied.returncode == 0, copied.stderr
    assert "sleuth replay" in copied.stdout + copied.stderr
    again = sleuth("save-step", "--to", str(away / "step"), cwd=home)
    assert again.returncode == 2 and "exists already" in again.stderr
    other = sleuth("save-step", "--step", "7", "--to", str(away / "other"), cwd=home)
    assert other.returncode == 2 and "saved steps are: 0" in other.stderr
    program.unlink()
    return away / "step"


def test_it_is_run_again_without_the_program(saved: Path) -> None:
    ran = sleuth("replay", str(saved), "--json", cwd=saved.parent)
    assert ran.returncode == 1, ran.stderr
    found = json.loads(ran.stdout)["findings"][0]
    assert (found["cause"], found["line"], found["step"]) == ("divide-by-zero", 13, 0)
    assert "# divides" in found["code"]
    assert "replayed" in found["seen"]


def test_what_is_missing_is_said(saved: Path, tmp_path: Path) -> None:
    nowhere = sleuth("replay", "nowhere", cwd=tmp_path)
    assert nowhere.returncode == 2 and "no saved step" in nowhere.stderr and "save-step" in nowhere.stderr
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in saved.iterdir():
        if file.name != "1.npy":
            (broken / file.name).write_bytes(file.read_bytes())
    without = sleuth("replay", str(broken), cwd=tmp_path)
    assert without.returncode == 2 and "cannot be run" in without.stderr and "1.npy" in without.stderr


def test_a_run_without_saved_steps_says_how_to_get_them(tmp_path: Path) -> None:
    (tmp_path / "sleuth_runs").mkdir()
    none = sleuth("save-step", "--to", "step", cwd=tmp_path)
    assert none.returncode == 2 and none.stderr.startswith("sleuth: ")
