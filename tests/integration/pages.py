"""Pages whose commands are run: what they print is what the page says."""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests import warm_python

LEFT_OUT = "…"
ENVIRONMENT = {"COLUMNS": "80", "TF_CPP_MIN_LOG_LEVEL": "3", "NO_COLOR": "1"}


def commands(page: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a page, with the lines that it is said to print."""
    for block in re.findall(r"```console\n(.*?)```", page, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *printed = part.splitlines()
            yield command, printed


def run(command: list[str], folder: Path) -> list[str]:
    """Return what a command prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | ENVIRONMENT | {"PATH": path}
    return printed_by(subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False), folder)


def run_line(line: str, folder: Path) -> list[str]:
    """Return what a line of a shell prints; a plain `sleuth` or `python` runs in a fork of a warm Python."""
    words = shlex.split(line)
    if words[0] not in ("sleuth", "python") or re.search(r"[|;<>&]", line):
        return run(["bash", "-c", line], folder)
    warm = warm_python.shared()
    start = warm.sleuth if words[0] == "sleuth" else warm.run
    return printed_by(start(*words[1:], cwd=folder, env=ENVIRONMENT), folder)


def printed_by(done: subprocess.CompletedProcess[str], folder: Path) -> list[str]:
    lines = (done.stdout + done.stderr).replace(f"{folder}{os.sep}", "").splitlines()
    return [line.rstrip() for line in lines if not re.match(r"[IWEF]\d{4} |WARNING: All log", line)]  # TensorFlow's own


def is_same(said: str, printed: str) -> bool:
    """Are they the same, but for what is left out, and the last digits of long numbers: processors round otherwise."""
    numbers = r"\d+\.\d{3,}"
    pattern = re.escape(re.sub(numbers, "#", said)).replace(LEFT_OUT, ".*")
    if not re.fullmatch(pattern, re.sub(numbers, "#", printed)):
        return False
    pairs = zip(re.findall(numbers, said), re.findall(numbers, printed))
    return all(math.isclose(float(one), float(other), rel_tol=1e-3) for one, other in pairs)


def follow(said: list[str], printed: list[str]) -> str | None:
    """The first line of the page that was not printed where it should be; None where all were."""
    at, free = 0, False
    for line in said:
        if line == LEFT_OUT:
            free = True
            continue
        places = [place for place in range(at, len(printed)) if is_same(line.rstrip(), printed[place])]
        if not places or (places[0] != at and not free):
            return line
        at, free = places[0] + 1, False
    return None if free or at == len(printed) else "(the end)"


def hold_to(page: str, folder: Path) -> None:
    """Run the commands of a page, in order."""
    for command, said in commands(page):
        printed = run_line(command, folder)
        broken = follow(said, printed)
        assert broken is None, "\n".join([f"$ {command}", *printed, f"-- the page has here: {broken}"])
