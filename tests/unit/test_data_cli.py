"""`sleuth data`: what people see, exit codes, JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tensorsleuth.cli.main import cli
from tensorsleuth.ui.terminal.progress import ProgressBar


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    random = np.random.default_rng(0)
    x, y = random.random((200, 28, 28), dtype=np.float32), np.arange(200) % 10
    np.savez("good.npz", image=x, label=y)
    np.savez("other.npz", image=random.random((100, 28, 28), dtype=np.float32), label=y[:100])
    bad, wrong = x.copy(), y.copy()
    bad[3, 4, 5], wrong[7] = np.nan, 12
    np.savez("bad.npz", image=bad, label=wrong)
    return tmp_path


def sleuth(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ("data", *arguments))


def test_good_data() -> None:
    done = sleuth("check", "good.npz", "other.npz")
    assert done.exit_code == 0, done.output
    assert " OK " in done.stdout and "good.npz (200 rows), validation other.npz (100 rows)" in done.stdout
    assert (
        "nothing wrong" in " ".join(done.stdout.split())
        and "no schema: checked only for what is always wrong" in done.stdout
    )
    assert "sleuth data infer good.npz -o schema.toml" in done.stderr


def test_bad_data() -> None:
    done = sleuth("check", "bad.npz")
    assert done.exit_code == 1
    for part in (
        "BROKEN",
        "2 violations",
        "✗  image",
        "finite values",
        "1 of 156,800: 1 NaN",
        "[3, 4, 5] NaN",
        "Fill or drop",
    ):
        assert part in done.stdout, part
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_infer_then_check() -> None:
    done = sleuth("infer", "good.npz", "-o", "schema.toml")
    assert done.exit_code == 0 and "sleuth data check good.npz --schema schema.toml" in done.stderr
    text = Path("schema.toml").read_text()
    assert 'shape = ["batch", 28, 28]' in text and "between = [0.0, 1.0]" in text and "classes = 10" in text
    assert sleuth("check", "good.npz", "other.npz", "--schema", "schema.toml").exit_code == 0
    broken = sleuth("check", "bad.npz", "--schema", "schema.toml")
    assert broken.exit_code == 1 and "classes 0 to 9" in broken.stdout and "held to the schema" in broken.stdout
    again = sleuth("infer", "good.npz", "-o", "schema.toml")
    assert again.exit_code == 2 and "schema.toml exists already" in again.stderr and "--force" in again.stderr
    assert sleuth("infer", "good.npz", "-o", "schema.toml", "--force").exit_code == 0
    assert sleuth("infer", "good.npz").stdout == text


def test_infer_tells_what_the_sample_has_that_is_never_right() -> None:
    done = sleuth("infer", "bad.npz")
    assert done.exit_code == 0 and "[features." in done.stdout
    said = " ".join(done.stderr.split())
    assert "The schema accepts the problems of " in said and said.endswith(
        "Look at them first: sleuth data check bad.npz"
    )
    assert "see first" not in sleuth("infer", "good.npz").stderr


def test_json() -> None:
    done = sleuth("check", "bad.npz", "--json", "--against", "other.npz")
    said = json.loads(done.stdout)
    assert done.exit_code == 1 and said["verdict"] == "problem" and said["version"] == 1 and not said["schema"]
    assert [(one["part"], one["rows"]) for one in said["read"]] == [("data", 200), ("against", 100)]
    first = next(one for one in said["violations"] if one["rule"] == "finite")
    assert first["positions"] == [[3, 4, 5]] and first["values"] == ["NaN"] and first["broken"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("check", "none.npz"), "none.npz is not there. Is the path right?"),
        (("check", "good.npz", "none.npz"), "none.npz is not there"),
        (("check", "good.npz", "--schema", "none.toml"), "cannot read the schema none.toml"),
        (("infer", "."), ". is a folder"),
    ],
)
def test_what_cannot_be_read(arguments: tuple[str, ...], sentence: str) -> None:
    done = sleuth(*arguments)
    assert done.exit_code == 2 and f"sleuth: {sentence}" in done.stderr and "Traceback" not in done.output


def test_the_bar_is_shown_for_long_work_only(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(force_terminal=True, width=80, stderr=True, record=True)
    with ProgressBar(console) as bar:
        bar.show("train.npz", 10, 100)
        assert not bar._tasks
        bar._began -= 10
        bar._last -= 10
        bar.show("train.npz", 50, 100)
        assert bar._bar.tasks[0].completed == 50 and bar._bar.tasks[0].total == 100


@pytest.mark.parametrize("pack", [np.savez, np.savez_compressed])
def test_a_large_file_takes_little_memory(pack: Any, tmp_path: Path) -> None:
    rows = np.zeros((60_000, 1000), np.float32)  # 240 MB
    rows[:, 0] = np.arange(len(rows))
    rows[-1, -1] = np.nan
    pack(tmp_path / "large.npz", x=rows)
    program = """
from pathlib import Path
from tensorsleuth.data.check_data import check
found = [one.positions for one in check(None, "large.npz") if one.rule == "finite"]
lines = Path("/proc/self/status").read_text().splitlines()
print(found, next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    found, _, peak = done.stdout.rpartition(" ")
    assert found == "[((59999, 999),)]" and int(peak) < 160, done.stdout


@pytest.mark.parametrize("command", ["check", "infer"])
def test_help_has_examples(command: str) -> None:
    assert f"\n  sleuth data {command} " in sleuth(command, "--help").output
