"""`sleuth debug` as a process: in a pseudo-terminal by keys, and without a terminal by commands."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorsleuth.trace.storage import synthetic

SLEUTH = [sys.executable, "-m", "tensorsleuth.cli.main"]
PATIENCE = 240.0  # seconds; the machine may be busy
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*)?$")  # the next read returns the rest


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write(tmp_path_factory.mktemp("runs") / "three-steps", 3000, 5)


class Terminal:
    """A process on a terminal of its own."""

    def __init__(
        self, *command: str, rows: int = 24, columns: int = 80, stderr: Any = None, **environment: str
    ) -> None:
        self._here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        env = {**os.environ, "TERM": "xterm-256color", **environment}
        self.process = subprocess.Popen(
            command, stdin=there, stdout=there, stderr=stderr or there, env=env, start_new_session=True
        )
        os.close(there)
        self.seen = self._begun = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two parts

    def press(self, keys: str) -> None:
        os.write(self._here, keys.encode())

    def wait_for(self, *words: str) -> None:
        """Until it has written these since the last time, in any order; what it wrote is forgotten then."""
        end = time.monotonic() + PATIENCE
        while not all(word in self.seen for word in words):
            assert time.monotonic() < end, f"{words!r} was not written, but {self.seen[-3000:]!r}"
            self._read()
        self.seen = self.seen[max(self.seen.index(word) + len(word) for word in words) :]

    def _read(self) -> None:
        ready, _, _ = select.select([self._here], [], [], 0.2)
        try:
            raw = os.read(self._here, 1 << 16) if ready else b""
        except OSError as error:
            raise AssertionError(f"it ended: {self.seen[-3000:]!r}") from error
        text = self._begun + self._decoder.decode(raw)
        begun = BEGUN.search(text)
        whole = begun.start() if begun else len(text)
        self.seen += ESCAPES.sub("", text[:whole])
        self._begun = text[whole:]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._here)


@pytest.fixture
def terminal(run: Path) -> Iterator[Terminal]:
    terminal = Terminal(*SLEUTH, "debug", str(run))
    yield terminal
    terminal.close()


def test_the_debugger_is_driven_by_keys(terminal: Terminal) -> None:
    terminal.wait_for("tensors 1,501/3,000", "HEALTHY")
    terminal.press("n")
    terminal.wait_for("1,875/3,000")
    terminal.press("a")
    terminal.wait_for("alerts 2/5")
    terminal.press("\r")
    terminal.wait_for("━1 input above")  # the graph has the focus
    terminal.press("\x1b[A")
    terminal.wait_for("Mul_873")
    terminal.press("\r")  # to the input
    terminal.wait_for("layer_87/Mul_873:0──")
    terminal.press("\x7f")  # and back
    terminal.wait_for("layer_87/Log_874:0──")
    terminal.press(":ni -t\r")  # all at once, as over a slow line
    terminal.wait_for("made at")
    terminal.press("where\rlx\r")
    terminal.wait_for("there is no command 'lx'")
    terminal.press("quit\r")
    assert terminal.process.wait(PATIENCE) == 0


def test_sixteen_colours_and_a_small_window(run: Path) -> None:
    terminal = Terminal(*SLEUTH, "debug", str(run), rows=16, columns=60, TERM="xterm", COLORTERM="")
    try:
        terminal.wait_for("tensors 1,501/3,000")
        terminal.press("\r")
        terminal.wait_for("above")
        terminal.press("q")
        assert terminal.process.wait(PATIENCE) == 0
    finally:
        terminal.close()


def test_it_is_drawn_on_the_terminal_if_stderr_goes_to_a_file(run: Path, tmp_path: Path) -> None:
    with open(tmp_path / "stderr", "w") as file:
        terminal = Terminal(*SLEUTH, "debug", str(run), stderr=file)
    try:
        terminal.wait_for("tensors 1,501/3,000")
        terminal.press("q")
        assert terminal.process.wait(PATIENCE) == 0 and not (tmp_path / "stderr").read_text()
    finally:
        terminal.close()


def sleuth(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SLEUTH, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_without_a_terminal_commands_are_printed(run: Path) -> None:
    done = sleuth("debug", str(run), "-c", "lt -f has_inf_or_nan --limit 2", "-c", "ni -t", "-c", "quit", "-c", "lt")
    assert done.returncode == 2 and "no tensor is selected yet" in done.stderr  # of ni; the rest goes on
    assert (
        "5 tensors: alerts" in done.stdout and "3 more: --limit 5" in done.stdout and "3,000 tensors" not in done.stdout
    )
    assert "\x1b" not in done.stdout
    nothing = sleuth("debug", str(run))
    assert nothing.returncode == 2 and "needs a terminal" in nothing.stderr and "sleuth debug -c" in nothing.stderr


def test_eval_lets_numpy_import_what_it_needs_late() -> None:
    program = (
        "import numpy as np; from tensorsleuth.ui.debugger.evaluation import evaluate\n"
        "print(evaluate('np.isnan(`a`).sum() + `a`.size + np.linalg.norm(`a`[:1])', lambda _: np.array([3.0, np.nan])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert float(done.stdout or "nan") == 6.0, done.stderr


def test_it_needs_no_tensorflow(run: Path) -> None:
    program = (
        "import sys; sys.modules['tensorflow'] = None\n"
        "from tensorsleuth.cli.main import cli\n"
        f"cli.main(['debug', {str(run)!r}, '-c', 'alerts'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0 and "5 bad tensors" in done.stdout, done.stderr
