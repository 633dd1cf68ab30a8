"""The figures of a run of the zoo, in a file. Programs of different runs never stand in the same run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.machine import ROOT, Machine
from bench.results import rounded
from bench.zoo.harness.figures import Figures

KEPT = ROOT / "bench" / "zoo.json"
"""The runs that docs/performance.md shows, one with oneDNN and one without; under version control."""

LATEST = ROOT / "build" / "zoo.json"
"""The latest run, whole or not."""

SETTINGS = {True: "on", False: "off"}
"""The names of a run with oneDNN and of one without."""


@dataclass
class Run:
    """The figures of each program that was measured, and the machine."""

    machine: Machine
    programs: dict[str, Figures] = field(default_factory=dict)


Zoo = dict[str, Run]
"""Runs by their setting of oneDNN."""


def save(zoo: Zoo, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(rounded({name: asdict(run) for name, run in zoo.items()}), indent=1) + "\n")


def load(path: Path) -> Zoo:
    """Read the runs of a file; none if there is no file yet."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text())
    return {name: Run(Machine(**run["machine"]), run["programs"]) for name, run in content.items()}
