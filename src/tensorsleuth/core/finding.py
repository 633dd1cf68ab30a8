"""Findings and diagnoses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from tensorsleuth.core.fit_position import FitPosition, Phase
from tensorsleuth.core.run_end import RunEnd
from tensorsleuth.core.series import LogMessage


class Basis(Enum):
    """The evidence that a finding rests on."""

    BAD_VALUE = "bad value"  # a NaN, an infinity, or an error
    COUNTED = "counted"  # something the program does step after step, but should not
    GRAPH = "graph"  # the structure of the graph: no values were counted


@dataclass(frozen=True)
class Evidence:
    """One tensor as evidence for a finding."""

    role: str  # in, out
    name: str
    op: str
    dtype: str
    shape: tuple[int, ...] | None
    health: str  # in words
    line: str | None = None  # file:line where it was computed
    tensor: int | None = None  # its index among the events of the process


@dataclass(frozen=True)
class OtherLine:
    """A second line that a finding names: where what the first made is used."""

    file: str
    line: int
    function: str
    code: str | None


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
    phase: str | None = None  # of a Keras model: train, evaluate or predict
    epoch: int | None = None
    batch: int | None = None
    evidence: tuple[Evidence, ...] = ()
    chain: tuple[str, ...] = ()
    seen: str | None = None  # how it was found, if not when it happened
    worker: str | None = None  # of a cluster, e.g. `worker 1 of 2`
    replica: str | None = None  # e.g. `replica 1 of 2 (CPU:1)`
    others: str | None = None  # the state of the other replicas and workers
    logged: tuple[LogMessage, ...] = ()  # the last messages of `tensorsleuth.log`
    effects: tuple[str, ...] = ()  # findings that follow from it, in words
    source: tuple[tuple[int, str], ...] = field(default=())  # the lines around, as they were during the run
    call: int | None = None  # the call that made the value
    process: int | None = None  # its index among the run's processes
    tensor: int | None = None  # index of the origin among the events of that process
    hops: tuple[int | None, ...] = ()  # for each entry of the chain the index of its tensor
    path: tuple[int, ...] = ()  # indices of all tensors on the path from origin to symptom
    basis: Basis = Basis.BAD_VALUE
    columns: tuple[int, int] | None = None  # of the expression in `line`: its first letter, and behind its last one
    shown_at: OtherLine | None = None  # where it shows, if `line` made what it is about: a layer, a loss, a dataset

    @property
    def when(self) -> str:
        """The step, epoch and batch in words, as far as they are known."""
        step = f"step {self.step}" if self.step is not None and self.step >= 0 else ""
        fit = str(FitPosition(Phase[self.phase.upper()], self.epoch, self.batch)) if self.phase else ""
        return ", ".join(part for part in (step, fit) if part)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of `sleuth why --json`, without those that need the trace."""
        described = asdict(self)
        for name in ("source", "call", "process", "tensor", "hops", "path", "basis"):
            del described[name]
        for piece in described["evidence"]:
            del piece["tensor"]
        return described


def _no_end() -> tuple[RunEnd | None, list[str]]:
    return None, []


@dataclass(frozen=True)
class Doubt:
    """A gap in a recording that keeps a run from being called healthy."""

    what: str  # continues "no problem found in 24 steps, but …"
    command: str | None = None  # the command that would close the gap

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Diagnosis:
    """All findings of a run."""

    run: str
    findings: tuple[Finding, ...]
    masked: tuple[Finding, ...]  # bad values without effect
    not_covered: tuple[dict[str, Any], ...]
    trouble: tuple[str, ...]
    events: int
    steps: int
    blind: str | None = None  # the recording mode, if it does not record values
    _find_end: Callable[[], tuple[RunEnd | None, list[str]]] = field(default=_no_end, repr=False, compare=False)
    notes: tuple[Finding, ...] = ()  # advice: problems that cost time or memory, but do no harm
    unjudged: str | None = None  # why there is no verdict: nothing was recorded
    inside: bool = False  # whether layers, gradients and attention were recorded, and so checked
    in_sessions: bool = False  # whether sessions ran its graphs, in which layers are not recorded
    ended_well: bool = False  # the program's end needs no explanation
    unclear: tuple[Doubt, ...] = ()  # gaps, so that a run without findings is not called healthy

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @cached_property
    def _end_and_trouble(self) -> tuple[RunEnd | None, list[str]]:
        return self._find_end()

    @property
    def end(self) -> RunEnd | None:
        """The end of the run and its last activity. Computed at first use, since it takes memory and threads."""
        return self._end_and_trouble[0]

    @property
    def all_trouble(self) -> tuple[str, ...]:
        """Return the parts that could not be read, including those about the end."""
        return (*self.trouble, *self._end_and_trouble[1])

    @property
    def verdict(self) -> str:
        """`problem`, `healthy`, or `unknown`: nothing was recorded (`unjudged`), or too little (`unclear`)."""
        if self.findings:
            return "problem"
        return "unknown" if self.unjudged or self.unclear else "healthy"

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "run": self.run,
            "verdict": self.verdict,
            "findings": [finding.to_json() for finding in self.findings],
            "masked": [finding.to_json() for finding in self.masked],
            "notes": [finding.to_json() for finding in self.notes],
            "not_covered": list(self.not_covered),
            "trouble": list(self.all_trouble),
            "unjudged": self.unjudged,
            "unclear": [doubt.to_json() for doubt in self.unclear],
            "end": self.end.to_json() if self.end is not None else None,
        }
