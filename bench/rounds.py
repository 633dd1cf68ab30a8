"""Worker processes that take turns, so that whatever else the machine does falls on all of them alike."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.row import Bench

ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0",
}  # fmt: skip
"""Quiet, on the CPU, one thread, and the same in every process."""

WARM_UP = 2
"""Rounds that a worker runs before it says that it is ready."""

Sample = dict[str, float]


class WorkerFailed(RuntimeError):
    """A variant could not run; the text is the error it ended with."""


class Worker:
    """One variant of one workload in a process of its own."""

    def __init__(self, workload: str, steps: int, variant: str, mode: str, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._complaints = folder.with_suffix(".err")
        command = [sys.executable, "-m", "bench.worker", workload, str(steps), variant, mode, str(folder)]
        with self._complaints.open("w") as err:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True, bufsize=1,
                env=os.environ | ENVIRONMENT,
            )  # fmt: skip

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the recording as a program that returns would; end the process if it is not wanted any more."""
        if kind is not None:
            self._process.kill()
        self._process.communicate()

    def answer(self) -> Sample:
        """Wait for the next answer; the first says that the warm-up is over."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise WorkerFailed(self._reason())
        sample: Sample = json.loads(line)
        return sample

    def _reason(self) -> str:
        lines = self._complaints.read_text().strip().splitlines()
        errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
        return [f"ended with {self._process.returncode}", *lines[-1:], *errors][-1]

    def round(self) -> Sample:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # `answer` reports the reason
            self._process.stdin.write("\n")
        return self.answer()


@dataclass
class Samples:
    """What the variants answered, round by round, and why those that are missing are."""

    rounds: dict[str, list[Sample]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, more: Samples) -> None:
        """A variant counts where it ran every time."""
        self.failed |= more.failed
        for variant, samples in more.rounds.items():
            self.rounds.setdefault(variant, []).extend(samples)
        self.rounds = {v: samples for v, samples in self.rounds.items() if v not in self.failed}


def interleave(bench: Bench, workload: str, steps: int, variants: dict[str, str], rounds: int) -> Samples:
    """Run `variants` (name to mode) side by side, every other round in reverse order."""
    samples = Samples()
    with ExitStack() as stack:
        bench.progress("warming up " + ", ".join(variants))
        workers = {
            variant: stack.enter_context(Worker(workload, steps, variant, mode, bench.folder / variant))
            for variant, mode in variants.items()
        }
        for variant in variants:
            _attempt(samples, variant, workers[variant].answer)
        for i in range(rounds):
            bench.progress(f"round {i + 1} of {rounds}")
            for variant in _order([v for v in variants if v not in samples.failed], i):
                _attempt(samples, variant, workers[variant].round, keep=True)
        bench.progress("closing")
    return samples


def _order(variants: Sequence[str], turn: int) -> Sequence[str]:
    return variants[::-1] if turn % 2 else variants


def _attempt(samples: Samples, variant: str, ask: Callable[[], Sample], keep: bool = False) -> None:
    try:
        sample = ask()
    except WorkerFailed as error:
        samples.failed[variant] = str(error)
        samples.rounds.pop(variant, None)
    else:
        if keep:
            samples.rounds.setdefault(variant, []).append(sample)
