"""docs/guide-checks.md, command by command: what it prints is what the page says."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/guide-checks.md").read_text()
PROGRAMS = ROOT / "docs/guide"
LEFT_OUT = "…"


def commands() -> Iterator[tuple[str, list[str]]]:
    """Each command of the page, with the lines that it is said to print."""
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *printed = part.splitlines()
            yield command, printed


def run(command: str, folder: Path) -> list[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "COLUMNS": "80", "TF_CPP_MIN_LOG_LEVEL": "3", "NO_COLOR": "1"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).replace(f"{folder}{os.sep}", "").splitlines()
    return [line.rstrip() for line in lines if not re.match(r"[IWEF]\d{4} |WARNING: All log", line)]  # TensorFlow's own


def is_same(said: str, printed: str) -> bool:
    """Are they the same, but for the last digits of numbers with many: other processors round otherwise."""
    numbers = r"\d+\.\d{3,}"
    if re.sub(numbers, "", said) != re.sub(numbers, "", printed):
        return False
    pairs = zip(re.findall(numbers, said), re.findall(numbers, printed), strict=True)
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


def test_the_guide(tmp_path: Path) -> None:
    for program in PROGRAMS.glob("*.py"):
        shutil.copy(program, tmp_path)
    for command, said in commands():
        printed = run(command, tmp_path)
        broken = follow(said, printed)
        assert broken is None, "\n".join([f"$ {command}", *printed, f"-- the page has here: {broken}"])


def test_its_programs_are_those_that_it_shows() -> None:
    shown = {block.splitlines()[0][2:]: block for block in re.findall(r"```python\n(.*?)```", PAGE, re.S)}
    assert shown == {path.name: path.read_text() for path in PROGRAMS.glob("*.py")}


def test_following_is_strict() -> None:
    assert follow(["a", LEFT_OUT, "c"], ["a", "b", "c"]) is None and follow(["a", LEFT_OUT], ["a", "b"]) is None
    assert follow(["a", "c"], ["a", "b", "c"]) == "c" and follow(["a"], ["a", "b"]) == "(the end)"
    assert follow([LEFT_OUT, "d"], ["a"]) == "d"
    assert is_same("sums of 0.0645328", "sums of 0.0645331") and not is_same("sums of 0.0645328", "sums of 0.0655328")
