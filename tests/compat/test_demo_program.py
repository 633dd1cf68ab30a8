"""The demo program breaks at the same step, by a wide margin, on every TensorFlow that is supported."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests import warm_python

from tensorsleuth import diagnose

PROGRAM = Path(__file__).resolve().parents[2] / "src" / "tensorsleuth" / "demo" / "digits_mlp.py"


def run_demo(*flags: str) -> subprocess.CompletedProcess[str]:
    return warm_python.shared().run(PROGRAM, *flags)


def accuracies(*flags: str) -> list[float]:
    done = run_demo(*flags)
    assert done.returncode == 0, done.stderr
    return [float(value) for value in re.findall(r"^Accuracy at step \d+: ([\d.]+)$", done.stdout, re.M)]


def test_learns_for_two_steps_and_then_sticks_at_chance() -> None:
    before, after = (found := accuracies("--max_steps", "8"))[:2], found[2:]
    assert before[0] < before[1]
    assert before[1] > 0.2
    assert len(after) == 6
    assert all(accuracy == pytest.approx(0.1, abs=0.03) for accuracy in after)


def test_learns_when_fixed() -> None:
    assert accuracies("--fixed")[-1] > 0.9


def test_check_numerics_stops_at_the_logarithm() -> None:
    done = run_demo("--check_numerics", "--max_steps", "4")
    assert done.returncode != 0
    assert "Log/CheckNumerics" in done.stderr
    assert "Tensor had -Inf values" in done.stderr


def test_takes_every_flag_of_the_tutorial() -> None:
    flags = ["--train_batch_size=50", "--learning_rate=0.025", "--data_dir=unused", "--fake_data"]
    flags += ["--use_random_config_path", "True", "--dump_tensor_debug_mode=CURT_HEALTH"]
    flags += ["--dump_circular_buffer_size=-1", "--check_numerics", "false"]
    assert len(accuracies("--max_steps=1", *flags)) == 1


def test_refuses_two_debuggers_at_once() -> None:
    done = run_demo("--check_numerics", "--dump_dir", "runs")
    assert done.returncode == 2
    assert "--check_numerics and --dump_dir cannot be given together" in done.stderr


def test_its_small_buffer_is_large_enough_for_the_verdict(tmp_path: Path) -> None:
    accuracies("--dump_dir", str(tmp_path), "--dump_tensor_debug_mode", "FULL_HEALTH")
    finding = diagnose(next(tmp_path.iterdir())).findings[0]
    assert finding.cause == "cross-entropy-by-hand", finding.summary
    assert "tf.math.log(probs)" in PROGRAM.read_text().splitlines()[(finding.line or 1) - 1]
