"""Runs Python programs, `sleuth run` among them, in forks of one Python that has imported TensorFlow.

Most of the time of a small program is that import. What a fork cannot show is left to tests that start a Python of
their own: how recording starts, and programs that set the environment before they import TensorFlow.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests import processes

REPOSITORY = Path(__file__).parent.parent
SLEUTH = ("-m", "tensorsleuth.cli.main")
# What most forks import: the recorder, and what `sleuth run` and `sleuth why` need after it.
OFTEN_IMPORTED = (
    "tensorsleuth.live.layer_stats.observer",
    "tensorsleuth.cli.commands.run",
    "tensorsleuth.cli.commands.why",
    "tensorsleuth.cli.output.closing",
    "tensorsleuth.diagnose.report",
)


class WarmPython:
    """The process that forks; it ends with us, for its input does."""

    def __init__(self, **environment: str) -> None:
        command = [sys.executable, "-m", "tests.warm_python"]
        quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with processes.kept():
            self._process = subprocess.Popen(command, text=True, bufsize=1, cwd=REPOSITORY, env=quiet, **pipes)

    def close(self) -> None:
        self._process.communicate()

    def run(
        self, *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `python ARGUMENTS` to its end, without input; `env` is added to the environment."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with tempfile.TemporaryDirectory() as scratch:
            output = {"stdout": f"{scratch}/stdout", "stderr": f"{scratch}/stderr"}
            words = [str(argument) for argument in arguments]
            asked = {"arguments": words, "cwd": str(cwd or scratch), "env": {**os.environ, **(env or {})}, **output}
            self._process.stdin.write(json.dumps(asked) + "\n")
            try:
                code = int(self._process.stdout.readline())
            except BaseException:  # a time limit, so that the next request need not wait for this program
                processes.end(processes.children(self._process.pid))
                self._process.kill()
                raise
            said = {name: Path(file).read_text() for name, file in output.items()}
        return subprocess.CompletedProcess(words, code, **said)

    def sleuth(
        self, *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `sleuth ARGUMENTS`; the program of `sleuth run` is a fork too."""
        return self.run(*SLEUTH, *arguments, cwd=cwd, env=env)


@functools.cache
def shared() -> WarmPython:
    """Return the warm Python of this process, started when the first test needs it."""
    python = WarmPython()
    atexit.register(python.close)
    return python


def serve() -> None:
    import tensorflow  # noqa: F401

    for name in OFTEN_IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # so that no fork looks through, and copies, what was imported before it
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def become(arguments: Sequence[str], cwd: str, env: Mapping[str, str], stdout: str, stderr: str) -> NoReturn:
    """Be `python ARGUMENTS` in the folder `cwd`; ends the process."""
    from tensorsleuth.cli.program import child

    setattr(child, "spawn", fork_program)  # noqa: B010 (mypy: a module's function)
    os.chdir(cwd)
    write = os.O_WRONLY | os.O_CREAT
    for stream, name, flags in ((0, os.devnull, os.O_RDONLY), (1, stdout, write), (2, stderr, write)):
        os.dup2(os.open(name, flags), stream)
    be_python(arguments, env)


def fork_program(command: Sequence[str], environment: Mapping[str, str], mask: set[int]) -> int:
    """Start the program of `sleuth run` as a fork, recorded as it would be; returns its pid."""
    pid = os.fork()
    if not pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        be_python(command[1:], environment)
    return pid


def be_python(arguments: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Run a program as the main one, with these variables, and end the process as Python would."""
    os.environ.clear()
    os.environ.update(env)
    code = 0
    try:
        if os.environ.get("SLEUTH_RUN"):
            start_recording()
        execute(list(arguments))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def start_recording() -> None:
    """Do what `inject/sitecustomize.py` does once TensorFlow has been imported."""
    from tensorsleuth.live.startup import autostart
    from tensorsleuth.live.startup import start as inject

    autostart.keep_faults()
    autostart.leave_mark()
    inject.start()


def execute(arguments: list[str]) -> None:
    """Run a file, or what `-m` or `-c` names, as `__main__`."""
    first, rest = arguments[0], arguments[1:]
    if first == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-m":
        sys.argv, sys.path[0] = rest, os.getcwd()
        sys.modules.pop(rest[0], None)  # runpy would warn that it is already imported
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = arguments, str(Path(first).parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    serve()
