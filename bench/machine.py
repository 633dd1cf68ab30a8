"""The machine that a run of the benchmark was made on, named so that somebody else can judge its figures."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from tensorsleuth.cli.doctor.machine import tensorflow_facts

ROOT = Path(__file__).resolve().parents[1]
BUSY = 0.5
"""A load per core before the run from which on the figures are doubtful."""


@dataclass(frozen=True)
class Machine:
    """Where, when and on which commit a run was made."""

    cpu: str
    instruction_set: str
    cores: int
    python: str
    tensorflow: str
    date: str
    commit: str
    load: float

    def __str__(self) -> str:
        cores = f"{self.cores} core{'s' if self.cores != 1 else ''}"
        where = f"{self.cpu}, {cores}, {self.instruction_set} kernels"
        return f"{where}, TensorFlow {self.tensorflow}, Python {self.python}, {self.date}, commit {self.commit}"

    @property
    def is_busy(self) -> bool:
        return self.load > BUSY * self.cores


def this_machine() -> Machine:
    """Describe this machine and this checkout, now."""
    facts = tensorflow_facts()
    return Machine(
        cpu=_cpu(),
        instruction_set=facts.get("native", "NumPy"),
        cores=len(os.sched_getaffinity(0)),
        python=platform.python_version(),
        tensorflow=(facts.get("tensorflow") or {}).get("version", "none"),
        date=datetime.now(timezone.utc).date().isoformat(),
        commit=_commit(),
        load=os.getloadavg()[0],
    )


def _cpu() -> str:
    """Return the model that the kernel names; ARM kernels name none."""
    found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    return found[1].strip() if found else platform.machine()


def _commit() -> str:
    """Return the commit that is checked out, and say so if the files differ from it."""
    commit = _git("rev-parse", "--short=9", "HEAD")
    return f"{commit} with changes" if _git("status", "--porcelain", "--", "src", "bench") else commit


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "unknown"
