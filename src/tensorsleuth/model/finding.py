"""What a diagnosis finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Evidence:
    """One tensor that speaks for a finding."""

    role: str  # in, out
    name: str
    op: str
    dtype: str
    shape: tuple[int, ...] | None
    health: str  # in words
    line: str | None = None  # file:line where it was computed


@dataclass(frozen=True)
class Finding:
    """A problem in the program, in the user's terms."""

    cause: str
    confidence: float
    severity: str
    summary: str
    file: str | None
    line: int | None
    function: str | None
    code: str | None
    op: str
    name: str
    step: int | None
    iteration: int | None
    fix: str | None = None
    layer: str | None = None
    evidence: tuple[Evidence, ...] = ()
    chain: tuple[str, ...] = ()
    worker: str | None = None  # of a cluster, e.g. `worker 1 of 2`
    replica: str | None = None  # e.g. `replica 1 of 2 (CPU:1)`
    others: str | None = None  # what became of the other replicas and workers
    source: tuple[tuple[int, str], ...] = field(default=())  # the lines around, as they were when it ran

    def to_json(self) -> dict[str, Any]:
        described = asdict(self)
        del described["source"]
        return described


@dataclass(frozen=True)
class Diagnosis:
    """All that was found in a run."""

    run: str
    findings: tuple[Finding, ...]
    masked: tuple[Finding, ...]  # bad values that came to nothing
    not_covered: tuple[dict[str, Any], ...]
    trouble: tuple[str, ...]
    events: int
    steps: int
    blind: str | None = None  # the mode it was recorded in, where that does not look at values

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def verdict(self) -> str:
        return "problem" if self.findings else "healthy"

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "run": self.run,
            "verdict": self.verdict,
            "findings": [finding.to_json() for finding in self.findings],
            "masked": [finding.to_json() for finding in self.masked],
            "not_covered": list(self.not_covered),
            "trouble": list(self.trouble),
        }
