"""Runs watched programs in forks of one Python that has imported TensorFlow: half of their time is that import.

What `sleuth run` does around a program (`cli/launch.py`) is not here; the recorder is started as it would start it.
A program that sets the environment before it imports TensorFlow needs a Python of its own.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent


class WarmPython:
    """The process that forks; it ends with us, for its input does."""

    def __init__(self, **environment: str) -> None:
        command = [sys.executable, "-m", "tests.warm_python"]
        quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, text=True, bufsize=1, cwd=REPOSITORY, env=quiet, **pipes)

    def close(self) -> None:
        self._process.communicate()

    def run(self, program: Path, run: Path) -> tuple[int, str]:
        """The exit code of a program that was recorded into `run`, and what it wrote to stderr."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as scratch:
            asked = {"program": str(program), "run": str(run), "scratch": scratch}
            self._process.stdin.write(json.dumps(asked) + "\n")
            code = int(self._process.stdout.readline())
            return code, (Path(scratch) / "stderr").read_text()


def serve() -> None:
    import tensorflow  # noqa: F401

    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def become(program: str, run: str, scratch: str) -> None:
    """Be the program, as `python PROGRAM` would be, in the folder `scratch`; ends the process."""
    from tensorsleuth.capture import inject

    os.chdir(scratch)
    for stream, name, flags in ((0, os.devnull, os.O_RDONLY), (1, "stdout", os.O_WRONLY), (2, "stderr", os.O_WRONLY)):
        os.dup2(os.open(name, flags | (os.O_CREAT if stream else 0)), stream)
    os.environ["SLEUTH_RUN"] = run
    inject.start()
    sys.argv, sys.path[0] = [program], str(Path(program).parent)
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit:
        raise
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
    sys.exit(0)


if __name__ == "__main__":
    serve()
