"""One round of a variant: the program with N steps, then with 2 N. The difference is N steps, without start and end."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.machine import ROOT
from bench.zoo.harness import variants
from bench.zoo.harness.processes import ProgramFailed, Usage, run
from bench.zoo.harness.programs import Program

SCRATCH = ROOT / "build"
VERDICT = re.compile(r"^ (HEALTHY|UNCLEAR|UNKNOWN|PROBLEM)\b", re.M)
"""The word in front of the closing lines of `sleuth run`."""


@dataclass(frozen=True)
class Sample:
    """A program of N steps and one of 2 N steps, both run in the same way."""

    steps: int
    short: Usage
    long: Usage
    disk: float = 0.0  # bytes of the longer run's recording
    verdict: str = ""

    def step(self, clock: str) -> float:
        """Return the seconds of a steady step, by the clock `wall` or `cpu`."""
        return float(getattr(self.long, clock) - getattr(self.short, clock)) / self.steps

    def whole(self, clock: str) -> float:
        """Return the seconds of the whole program of N steps."""
        return float(getattr(self.short, clock))


@dataclass
class Samples:
    """The rounds of each variant of a program by their number, and the error of each variant that failed."""

    rounds: dict[str, dict[int, Sample]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def take(program: Program, names: Sequence[str], rounds: int, onednn: bool, progress: Callable[[str], None]) -> Samples:
    """Run the variants of a program in turns, every other round in reverse order. One that fails is left out then."""
    samples = Samples()
    for number in range(rounds):
        for name in names[::-1] if number % 2 else names:
            if name in samples.failed or (number > 0 and name in variants.PEERS):
                continue
            progress(f"round {number + 1} of {rounds}, {name}")
            try:
                sample = _sample(name, program, onednn)
            except ProgramFailed as error:
                samples.failed[name] = str(error)
                samples.rounds.pop(name, None)
            else:
                samples.rounds.setdefault(name, {})[number] = sample
    return samples


def _sample(name: str, program: Program, onednn: bool) -> Sample:
    short, _, _ = _watched_run(name, program, program.steps, onednn)
    return Sample(program.steps, short, *_watched_run(name, program, 2 * program.steps, onednn))


def _watched_run(name: str, program: Program, steps: int, onednn: bool) -> tuple[Usage, float, str]:
    """Run a program once. Return what it took, the bytes of its recording, and the verdict on it."""
    SCRATCH.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="zoo-", dir=SCRATCH) as text:
        folder = Path(text)
        complaints = folder / "stderr.txt"
        used = run(variants.command(name, program, steps, folder), variants.environment(onednn), complaints)
        return used, _size(folder / variants.RUN), _verdict(complaints) if name in variants.SLEUTH else ""


def _verdict(complaints: Path) -> str:
    found = VERDICT.search(complaints.read_text(errors="replace"))
    return found[1] if found else ""


def _size(folder: Path) -> float:
    """Return the bytes that the files of a folder take on disk. Files with holes take less than their length."""
    return float(sum(512 * path.stat().st_blocks for path in folder.rglob("*") if path.is_file()))
