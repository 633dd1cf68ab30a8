"""A program that pauses in the middle of a step: driven through its socket, its terminal, left alone."""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests import warm_python
from tests.integration.training_program import PROGRAM

SOURCES = Path(__file__).parents[2] / "src"
SLEUTH = f"import sys; sys.path[0] = {str(SOURCES)!r}; from tensorsleuth.cli.main import main; main()"
LONG = 240.0  # seconds: nothing here takes so long


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "SLEUTH_LOGDIR",
        "SLEUTH_RUN",
        "SLEUTH_SETTINGS",
        "SLEUTH_BREAKS",
        "SLEUTH_PAUSE_TIMEOUT",
        "PYTHONPATH",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def command(*options: str) -> list[str]:
    return [sys.executable, "-c", SLEUTH, "run", "--quiet", *options, "train.py"]


@contextmanager
def running(*options: str) -> Iterator[subprocess.Popen[str]]:
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command(*options), text=True, **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def to_its_end(*options: str) -> subprocess.CompletedProcess[str]:
    """Run the program without anybody who could answer it."""
    return warm_python.shared().sleuth("run", "--quiet", *options, "train.py", cwd=Path.cwd())


class Debugger:
    """Speaks the protocol, as `sleuth debug --attach` does."""

    def __init__(self) -> None:
        self.found = json.loads(eventually(lambda: next(Path().glob("sleuth_runs/*/p-*/debug.json"), None)).read_text())
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(LONG)
        self._socket.connect(self.found["socket"])
        self._lines = self._socket.makefile("rwb")

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        self._lines.write(json.dumps({"do": do, **more}).encode() + b"\n")
        self._lines.flush()
        answer: dict[str, Any] = json.loads(self._lines.readline())
        return answer

    def paused(self) -> Any:
        return eventually(lambda: found if (found := self.ask("status"))["state"] == "paused" else None)

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


def eventually(what: Any) -> Any:
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it never came")


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


@pytest.mark.usefixtures("place")
def test_a_debugger_drives_the_program() -> None:
    with running("--break", "grad_norm > 100") as process:
        debugger = Debugger()
        path = Path(debugger.found["socket"])
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700 and stat.S_IMODE(path.stat().st_mode) == 0o600

        status = debugger.paused()
        where = status["where"]
        assert (status["why"], where["op"], where["step"]) == ("grad_norm > 100", "MatMul", 0)
        assert Path(where["file"]).name == "train.py" and where["line"] == line_of("tf.matmul")
        assert status["seen"]["norm"] == pytest.approx(2258.43, abs=0.01) and where["call"]

        assert debugger.ask("value", name=None, slice="[0,:]") == {
            "dtype": "float32", "shape": [1], "values": [1010.0], "truncated": False}  # fmt: skip
        assert debugger.ask("eval", expression="np.abs(x).max() / 2")["values"] == 1010.0
        assert {one["op"] for one in debugger.ask("inputs")["inputs"]} >= {"Feed"}
        assert [one["op"] for one in debugger.ask("consumers")["consumers"]] == ["Mul"]
        assert "tf.matmul" in debugger.ask("source")["text"]
        for wrong in ({"do": "eval", "expression": "x.__class__"}, {"do": "value", "slice": "[9]"}, {"do": "dance"}):
            assert set(debugger.ask(**wrong)) == {"error"}
        assert "FULL_TENSOR" in debugger.ask("value", name="MatMul:0")["error"]
        assert "Did you mean 'nan'" in debugger.ask("until", filter="nann > 0")["error"]

        debugger.close()  # the program stays where it is
        debugger = Debugger()
        assert debugger.paused()["where"] == where
        assert debugger.ask("step") == {"state": "running"}
        assert debugger.paused()["where"]["step"] == 1
        debugger.ask("until", filter="step >= 3 and rank == 2")
        assert debugger.paused()["where"]["step"] == 3
        assert debugger.ask("stop") == {"state": "running"}
        out, err = process.communicate(timeout=LONG)
        debugger.close()
    assert process.returncode == 1 and "tensorsleuth.BreakError" in err and "step >= 3 and rank == 2" in err
    assert [line.split()[0] for line in out.splitlines()] == ["0", "1", "2"]
    assert "sleuth debug --attach" in err and not path.parent.exists()
    assert re.search(r"^ +sleuth view \S+-train   the same in a browser$", err, re.M)
    assert not list(Path().glob("sleuth_runs/*/p-*/debug.json"))


@pytest.mark.usefixtures("place")
def test_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_PAUSE_TIMEOUT", "0.5")
    done = to_its_end("--break", "grad_norm > 100", "--break-on", "gradient:weights")
    assert done.returncode == 0 and done.stdout.endswith("finished\n")
    assert done.stderr.count("paused:") == 1 and "the program goes on" in done.stderr


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_a_paused_program(number: signal.Signals) -> None:
    with running("--break", "grad_norm > 100") as process:
        debugger = Debugger()
        debugger.paused()
        os.kill(debugger.found["pid"], number)
        out, err = process.communicate(timeout=LONG)
        debugger.close()
    assert process.returncode == -number
    assert ("KeyboardInterrupt" in err) == (number is signal.SIGINT) and "finished" not in out


@pytest.mark.usefixtures("place")
def test_stop_from_the_command_line_and_a_wrong_condition() -> None:
    done = to_its_end("--break", "nann > 0")
    assert done.returncode == 2 and "Did you mean 'nan'" in done.stderr and not Path("sleuth_runs").exists()
    done = to_its_end("--break", "nan > 0", "--break", "max > 2000", "--break-on", "gradient:.*", "--then", "stop")
    assert done.returncode == 1 and "break_when stopped the program: max > 2000 holds for" in done.stderr


class Screen:
    """A program on a pseudo-terminal."""

    def __init__(self, arguments: list[str]) -> None:
        self.pid, self._descriptor = pty.fork()
        if not self.pid:
            os.execv(arguments[0], arguments)
        self._seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two parts

    def until(self, text: str) -> str:
        """What was shown up to this text."""
        deadline = time.monotonic() + LONG
        while text not in self._seen:
            ready, _, _ = select.select([self._descriptor], [], [], deadline - time.monotonic())
            assert ready, f"{text!r} never came; seen: {self._seen}"
            try:
                self._seen += self._decoder.decode(os.read(self._descriptor, 65_536))
            except OSError:  # the program has ended
                raise AssertionError(f"{text!r} never came; seen: {self._seen}") from None
        shown, _, self._seen = self._seen.partition(text)
        return shown

    def type(self, line: str) -> str:
        """What a command says, up to the next prompt."""
        os.write(self._descriptor, line.encode() + b"\n")
        return self.until("(sleuth) ")

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def end(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.mark.usefixtures("place")
def test_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_PAUSE_PROMPT", "1")
    screen = Screen(command("--break", "grad_norm > 100"))
    shown = screen.until("(sleuth) ")
    assert "paused: grad_norm > 100 holds for gradient_tape/MatMul/MatMul:0" in shown
    assert "▶" in screen.type("source") and "tf.matmul" in screen.type("l")
    assert f"train.py:{line_of('tf.matmul')} · step 0" in screen.type("where")
    assert "[[1010.0], [2020.0]]" in screen.type("value")
    assert "[2020.0]" in screen.type("p [1, :]")
    assert "1515.0" in screen.type("eval x.mean()")
    assert "Feed:0" in screen.type("inputs") and "(Mul)" in screen.type("consumers")
    assert "no command 'dance'" in screen.type("dance") and "until COND" in screen.type("help")
    assert "step > 0 holds for" in screen.type("step")
    screen.send("c\n")
    screen.until("finished")
    assert screen.end() == 0


@pytest.mark.usefixtures("place")
def test_a_terminal_opens_the_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen(command("--break", "grad_norm > 100"))
    screen.resize(100, 30)
    screen.until("PAUSED")
    screen.send("c")
    screen.until("finished")
    assert screen.end() == 0


@pytest.mark.usefixtures("place")
def test_who_leaves_the_debugger_gets_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen(command("--break", "grad_norm > 100"))
    screen.resize(100, 30)
    screen.until("PAUSED")
    screen.send("q")
    assert "help lists the commands" in screen.until("(sleuth) ")
    screen.send("c\n")
    screen.until("finished")
    assert screen.end() == 0


@pytest.mark.usefixtures("place")
def test_ctrl_c_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_PAUSE_PROMPT", "1")
    screen = Screen(command("--break", "grad_norm > 100"))
    screen.until("(sleuth) ")
    screen.send("\x03")
    screen.until("KeyboardInterrupt")
    assert screen.end() == -signal.SIGINT
