"""The numbers of one run of the benchmark, in a file. Rows of different runs never stand in the same file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.machine import ROOT, Machine
from bench.row import Result

KEPT = ROOT / "bench" / "results.json"
"""The run that README.md and docs/performance.md show; under version control."""

LATEST = ROOT / "build" / "bench.json"
"""The latest run, whole or not."""


@dataclass
class Run:
    """The results of one run by the name of their row, and the machine that it was made on."""

    machine: Machine
    rows: dict[str, Result] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        content = {"machine": asdict(self.machine), "rows": self.rows}
        path.write_text(json.dumps(rounded(content), indent=1, ensure_ascii=False) + "\n")


def load(path: Path) -> Run | None:
    """Read a run, or return None if none was kept yet."""
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    return Run(Machine(**content["machine"]), content["rows"])


def rounded(value: Any) -> Any:
    """Keep five digits of each number: more is noise, and makes every line of a diff differ."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
