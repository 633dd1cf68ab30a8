"""`sleuth memory` on programs of realistic size, really run: how much of what they took is told by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MB = 1_000_000
ENOUGH, ATTEMPTS = 0.8, 3
LARGE = {"mlp": 512, "cnn": 64, "transformer": 8}  # and their batches


def sleuth(*words: str, columns: int = 80, **more: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "COLUMNS": str(columns)} | more
    command = [sys.executable, "-m", "tensorsleuth.cli.main", *words]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def record(name: str, folder: Path, pool: bool) -> Path:
    """`pool`: with oneDNN, TensorFlow takes tensors from a pool; else from malloc."""
    words = ["run", "--quiet", "--logdir", str(folder), "-m", "bench.large", name, str(LARGE[name])]
    sleuth(*words, TF_ENABLE_ONEDNN_OPTS=str(int(pool)))
    return folder


def asked(logdir: Path, *options: str) -> dict[str, Any]:
    (answer,) = json.loads(sleuth("memory", "--json", "--logdir", str(logdir), *options))
    assert isinstance(answer, dict)
    return answer


@pytest.mark.machine
@pytest.mark.parametrize(("name", "pool"), [("mlp", False), ("cnn", False), ("cnn", True), ("transformer", True)])
def test_most_of_the_growth_is_told_by_name(name: str, pool: bool, tmp_path: Path) -> None:
    # The peak is one sample of a busy machine, so a second or third run may explain more of it.
    for attempt in range(ATTEMPTS):
        answer = asked(record(name, tmp_path / str(attempt), pool))
        if answer["growth"]["explained"] >= ENOUGH:
            break
    growth = answer["growth"]
    assert growth["explained"] >= ENOUGH, growth
    assert growth["bytes"] > 150 * MB
    assert growth["tensors"] > 0.2 * growth["bytes"]
    assert sum(group["bytes"] for group in answer["groups"]) == sum(one["bytes"] for one in answer["tensors"])
    kinds = {group["name"]: group["bytes"] for group in answer["groups"]}
    if name == "mlp":
        # Two moments of Adam for each weight; at the peak some may be in the middle of an update.
        assert 2.5 * kinds["weights"] > kinds["optimizer state"] > kinds["weights"] > 60 * MB
    else:
        assert kinds["activations"] > 10 * MB
    _check_report(tmp_path / str(attempt))


def _check_report(logdir: Path) -> None:
    for columns in (80, 120):
        text = sleuth("memory", "--logdir", str(logdir), columns=columns)
        assert max(map(len, text.splitlines())) <= columns
        assert "the peak" in text and "tensors that were alive" in text and "What for" in text and "Line" in text
    assert "models.py" in text or "large.py" in text
    step = asked(logdir, "--at", "step0", "--by", "op")
    assert step["moment"]["step"] == 0 and step["by"] == "op"
