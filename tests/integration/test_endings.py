"""Programs that end badly, for real: `sleuth run` and `sleuth why` name the end as what it was, and its line."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import warm_python
from tests.integration.memory_group import enter, limited_group

if importlib.util.find_spec("tensorflow") is None:
    pytest.skip("needs TensorFlow", allow_module_level=True)

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "programs" / "endings"
CODE = f"import sys; sys.path[0] = {str(ROOT / 'src')!r}; from tensorsleuth.cli.main import main; main()"
SLEUTH = [sys.executable, "-c", CODE]
PATIENCE = 300.0  # seconds: longer than anything takes, on any machine
LIMIT = 900 << 20


class Ended:
    """A program that was run under `sleuth run`, and what is said of it."""

    def __init__(self, folder: Path, code: int, stderr: str) -> None:
        self.code = code
        self.stderr = stderr
        (self.run,) = folder.glob("runs/*")
        asked = warm_python.shared().sleuth("why", "--json", self.run)
        assert asked.returncode == 1, asked.stderr
        self.verdict: dict[str, Any] = json.loads(asked.stdout)
        self.finding: dict[str, Any] = self.verdict["findings"][0]
        self.end: dict[str, Any] = self.verdict["end"]

    @property
    def place(self) -> tuple[str, int]:
        return Path(self.finding["file"]).name, self.finding["line"]

    @property
    def closing(self) -> str:
        """What the user reads, in one line."""
        return " ".join(self.stderr.split())


def line_of(program: str, mark: str) -> tuple[str, int]:
    lines = (PROGRAMS / program).read_text().splitlines()
    return program, next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def start(folder: Path, program: str, *options: str, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    """Its stderr is a file, as in a job: then what the program said last can be read."""
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3", "COLUMNS": "200"}
    command = [*SLEUTH, "run", "--logdir", str(folder / "runs"), *options, str(PROGRAMS / program)]
    with (folder / "stderr").open("w") as stderr:
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment, preexec_fn=before
        )


def finish(folder: Path, process: subprocess.Popen[str]) -> Ended:
    try:
        process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return Ended(folder, process.returncode, (folder / "stderr").read_text())


def run(folder: Path, program: str, *options: str) -> Ended:
    return finish(folder, start(folder, program, *options))


def wait_for(happens: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := happens()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)
    return found


def pid_of(folder: Path) -> int:
    (meta,) = folder.glob("runs/*/run.json")
    return int(json.loads(meta.read_text())["pid"])


def asked_where(folder: Path) -> str:
    """What the program said of where it is, when `sleuth run` asked."""
    return "".join(file.read_text() for file in folder.glob("runs/*/faults/*"))


def test_killed_by_the_oom_killer_of_its_container(tmp_path: Path) -> None:
    with limited_group(LIMIT) as group:
        if group is None:
            pytest.skip("no cgroup can be made here")
        before = lambda: enter(group)  # noqa: E731
        ended = finish(tmp_path, start(tmp_path, "keeps_every_batch.py", before=before))
    assert ended.code == -signal.SIGKILL
    assert ended.finding["cause"] == "killed-out-of-memory"
    assert ended.place == line_of("keeps_every_batch.py", "END")
    assert re.search(
        r"Killed: out of memory. The container's limit is 944 MB \(900 MiB\)\. .*keeps_every_batch.py:7", ended.closing
    )
    (main,) = [one for one in ended.end["doing"] if one["thread"] == "main thread"]
    assert (main["op"], main["ended"]) == ("Fill", False)
    memory = ended.end["memory"]
    assert memory["limit"] == LIMIT
    assert memory["largest"][0]["line"].endswith("keeps_every_batch.py:7")
    assert memory["largest"][0]["bytes"] >= 8192 * 8192 * 4
    assert memory["curve"][-1][1] > memory["curve"][0][1]


def test_segfault_in_what_an_op_runs(tmp_path: Path) -> None:
    ended = run(tmp_path, "segfault_in_python_function.py")
    assert ended.code == -signal.SIGSEGV
    assert ended.finding["cause"] == "segfault"
    assert ended.place == line_of("segfault_in_python_function.py", "END")
    (main,) = [one for one in ended.end["doing"] if one["thread"] == "main thread"]
    inner = main["inside"][0]
    assert (inner["op"], inner["line"]) == ("EagerPyFunc", line_of("segfault_in_python_function.py", "OP")[1])
    assert ended.end["stacks"][0]["frames"][0]["function"] == "string_at"
    assert ended.end["step"] == 0
    assert "segfault_in_python_function.py:9 in reads_nothing" in ended.closing


def test_abort_with_what_was_said_last(tmp_path: Path) -> None:
    ended = run(tmp_path, "abort_in_native_code.py")
    assert ended.code == -signal.SIGABRT
    assert ended.finding["cause"] == "aborted"
    assert ended.place == line_of("abort_in_native_code.py", "END")
    assert "Assertion `rows == columns' failed" in ended.finding["summary"]


def test_hang_is_said_once_and_told_at_the_end(tmp_path: Path) -> None:
    process = start(tmp_path, "lock_never_released.py", "--hang-after", "1")
    wait_for(lambda: "in waits" in asked_where(tmp_path))  # on a slow machine it may have seemed to hang before
    assert process.poll() is None, "it is left alone"
    process.send_signal(signal.SIGQUIT)
    ended = finish(tmp_path, process)
    assert ended.code == -signal.SIGQUIT
    assert ended.finding["cause"] == "hang"
    assert ended.place == line_of("lock_never_released.py", "END")
    assert ended.stderr.count("nothing has happened") == 1
    (main,) = [one for one in ended.end["doing"] if one["thread"] == "main thread"]
    assert main["inside"][0]["line"] == line_of("lock_never_released.py", "OP")[1]


def test_killed_from_outside(tmp_path: Path) -> None:
    process = start(tmp_path, "runs_until_killed.py")
    assert process.stdout is not None
    assert process.stdout.readline() == "5 steps\n"
    os.kill(pid_of(tmp_path), signal.SIGKILL)
    ended = finish(tmp_path, process)
    assert ended.code == -signal.SIGKILL
    assert ended.finding["cause"] == "killed"
    assert "Killed by SIGKILL from outside" in ended.closing
    assert ended.end["step"] >= 4


def test_tensor_that_fits_nowhere(tmp_path: Path) -> None:
    ended = run(tmp_path, "tensor_too_large.py")
    assert ended.code == 1
    assert ended.finding["cause"] == ended.end["kind"] == "out-of-memory"
    assert ended.place == line_of("tensor_too_large.py", "END")
    assert "making float32 [1024, 1073741824] (4.4 TB)" in ended.finding["summary"]


@pytest.mark.long
def test_array_that_fits_nowhere(tmp_path: Path) -> None:
    ended = run(tmp_path, "array_too_large.py")
    assert ended.code == 1
    assert ended.finding["cause"] == "memory-error"
    assert ended.place == line_of("array_too_large.py", "END")
    assert "was making float64 [65536, 1073741824]" in ended.finding["summary"]


@pytest.mark.long
def test_generator_that_blocks(tmp_path: Path) -> None:
    process = start(tmp_path, "generator_blocks.py", "--hang-after", "1")
    wait_for(lambda: "in read" in asked_where(tmp_path))
    process.send_signal(signal.SIGQUIT)
    ended = finish(tmp_path, process)
    assert ended.finding["cause"] == "hang"
    assert ended.place == line_of("generator_blocks.py", "END")
    (main,) = [one for one in ended.end["doing"] if one["thread"] == "main thread"]
    assert (main["op"], main["line"]) == ("IteratorGetNext", line_of("generator_blocks.py", "OP")[1])
