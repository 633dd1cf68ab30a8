"""Programs in processes of their own, with `sleuth run` and without, and a TensorFlow that is quick to import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
# Not PYTHONPATH, because the child must find the package by itself.
SLEUTH = [
    sys.executable,
    "-c",
    f"import sys; sys.path[0] = {str(SOURCES)!r}; from tensorsleuth.cli.main import main; main()",
]


RUN = [*SLEUTH, "run"]
# A fake TensorFlow and a fake recorder, which only report that they were loaded.
FAKE_TENSORFLOW = "import sys\nsys.real_loader = type(__loader__).__name__\nversion = 1\n"
FAKE_RECORDER = """
import os, sys
def start():
    import tensorflow
    assert tensorflow.version == 1, "start() came before the import was done"
    folder = os.path.join(os.environ["SLEUTH_RUN"], f"p-{os.getpid()}")
    os.mkdir(folder)
    with open(os.path.join(folder, "settings"), "w") as file:
        file.write(os.environ["SLEUTH_SETTINGS"])
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no setting of ours in the environment."""
    for name in ("SLEUTH_LOGDIR", "SLEUTH_RUN", "SLEUTH_SETTINGS", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fakes(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake tensorflow and a fake recorder on PYTHONPATH."""
    write(place / "fakes/tensorflow/__init__.py", FAKE_TENSORFLOW)
    write(place / "fakes/tensorsleuth/__init__.py", "")
    write(place / "fakes/tensorsleuth/live/startup/__init__.py", "")
    write(place / "fakes/tensorsleuth/live/startup/start.py", FAKE_RECORDER)
    monkeypatch.setenv("PYTHONPATH", str(place / "fakes"))
    return place / "fakes"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def sleuth(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, timeout=240, **options)  # type: ignore


def bare(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=240, **options)  # type: ignore


def meta() -> dict[str, object]:
    (path,) = Path("sleuth_runs").glob("*/run.json")
    loaded: dict[str, object] = json.loads(path.read_text())
    return loaded


def processes() -> list[Path]:
    return sorted(Path("sleuth_runs").glob("*/p-*"))
