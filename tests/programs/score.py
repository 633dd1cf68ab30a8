"""Runs the gallery through `sleuth run` and scores the verdicts: right line, right cause, false alarms.

python tests/programs/score.py [name…]                  run them, and score
python tests/programs/score.py --keep runs/ [name…]     also keep what was recorded
python tests/programs/score.py --again runs/ [name…]    score what was kept once more: after a change of the reasoning
python tests/programs/score.py --jobs 1 [name…]         run one program at a time (else 2)
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorsleuth.diagnose.report import diagnose
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.trace.reader import open_trace

GALLERY = Path(__file__).parent
MARK = re.compile(r"#\s*(BUG|ALSO):\s*([a-z0-9-]+)")
NOTE = re.compile(r"#\s*(NOTE):\s*([a-z0-9-]+)")  # advice, which makes no program ill
Run = Callable[[Path, Path], tuple[int, str]]  # a program, and where to record: its exit code, and its stderr
NOT_PROGRAMS = {"needed.py", "score.py", "test_gallery.py", "test_guarded.py"}


@dataclass(frozen=True)
class Score:
    """How the verdict on one program compares with its marks."""

    name: str
    marks: dict[int, str]  # line -> slug; empty for a healthy program
    findings: list[dict[str, Any]]
    exit_code: int
    trouble: str = ""
    unsaid: tuple[str, ...] = ()  # notes that are marked, and were not told there
    unasked: tuple[str, ...] = ()  # notes that are not marked
    unclear: tuple[str, ...] = ()  # why the verdict is neither a problem nor healthy

    @property
    def healthy(self) -> bool:
        return not self.marks

    @property
    def false_alarm(self) -> bool:
        """Return whether a healthy program is called a problem, or unclear."""
        return self.healthy and bool(self.findings or self.unclear)

    @property
    def line(self) -> bool:
        return self.healthy or (bool(self.findings) and self._line(self.findings[0]) in self.marks)

    @property
    def cause(self) -> bool:
        return self.healthy or (bool(self.findings) and self.findings[0]["cause"] in self.marks.values())

    def _line(self, finding: dict[str, Any]) -> int | None:
        inside = Path(finding["file"] or "").name == f"{self.name}.py"
        return finding["line"] if inside else None

    def __str__(self) -> str:
        got = [f"{self._line(f)}:{f['cause']}" for f in self.findings[:3]]
        state = "ok" if self.line and self.cause and not self.false_alarm and not self.unsaid else "WRONG"
        return f"{state:5} {self.name:36} want {self.marks or 'healthy'}  got {got or self.unclear or 'healthy'} {' '.join(self.unsaid + self.unasked)} {self.trouble}"


def marks_of(program: Path, mark: re.Pattern[str] = MARK) -> dict[int, str]:
    lines = enumerate(program.read_text().splitlines(), 1)
    return {number: found.group(2) for number, line in lines if (found := mark.search(line))}


def programs(names: list[str]) -> list[Path]:
    found = sorted(path for path in GALLERY.glob("*.py") if path.name not in NOT_PROGRAMS)
    return [path for path in found if not names or path.stem in names]


def score(program: Path, runs: Path, run: Run) -> Score:
    """Run one program, watched, in a folder of its own, and ask why."""
    logdir = runs / program.stem
    code, errors = run(program, logdir)
    complaints = [line for line in errors.splitlines() if line.startswith("tensorsleuth:")]
    try:
        told = diagnose(open_trace(run_folder.find(logdir, None))).to_json()
    except SleuthError as error:
        told, complaints = {"findings": [], "notes": [], "unclear": []}, [*complaints, str(error)[-300:]]
    noted = {(one["line"], one["cause"]) for one in told["notes"]}
    unsaid = tuple(
        f"{line}:{cause} unsaid" for line, cause in marks_of(program, NOTE).items() if (line, cause) not in noted
    )
    unmarked = sorted(noted - set(marks_of(program, NOTE).items()), key=str)
    unasked = tuple(f"{line}:{cause} noted" for line, cause in unmarked)
    unclear = tuple(one["what"] for one in told["unclear"])
    return Score(
        program.stem, marks_of(program), told["findings"], code, " ".join(complaints), unsaid, unasked, unclear
    )


def run_whole(program: Path, logdir: Path) -> tuple[int, str]:
    """Its exit code and what it wrote to stderr, under `sleuth run`."""
    shutil.rmtree(logdir, ignore_errors=True)
    command = [sys.executable, "-m", "tensorsleuth.cli.main", "run", "--quiet", "--logdir", str(logdir), str(program)]
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with tempfile.TemporaryDirectory() as scratch:
        ran = subprocess.run(command, cwd=scratch, env=quiet, capture_output=True, text=True, timeout=300)
    return ran.returncode, ran.stderr


def keep_as_it_is(program: Path, logdir: Path) -> tuple[int, str]:
    """It ran before."""
    return 0, ""


def total(scores: Iterable[Score]) -> str:
    """The three figures that count, in a line."""
    ill = [one for one in scores if not one.healthy]
    well = [one for one in scores if one.healthy]
    return (
        f"right line {sum(one.line for one in ill)}/{len(ill)} · right cause {sum(one.cause for one in ill)}/{len(ill)}"
        f" · false alarms {sum(one.false_alarm for one in well)}/{len(well)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--again", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(asked.jobs) as pool:
        runs = (asked.again or asked.keep or Path(scratch)).absolute()
        scores = []
        run = keep_as_it_is if asked.again else run_whole
        for one in pool.map(lambda program: score(program, runs, run), programs(asked.names)):
            print(one, flush=True)
            scores.append(one)
    print(total(scores))


if __name__ == "__main__":
    main()
