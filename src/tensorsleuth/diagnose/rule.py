"""A rule: it finds a mistake that needs no bad value, with its line, the evidence and the fix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Basis, Evidence, Finding
from tensorsleuth.diagnose.expressions import marked
from tensorsleuth.diagnose.needs import Need, recorded_parts
from tensorsleuth.diagnose.source_lines import position_of_step, source_fields
from tensorsleuth.trace.process.process import ProcessTrace

if TYPE_CHECKING:
    from tensorsleuth.diagnose.graph.line_ops import LineOps


class Severity(IntEnum):
    """The severity of a finding. The report lists findings in this order."""

    WRONG = 0  # results are wrong, which is worse than any memory
    GROWS = 1  # memory or time grows from step to step, without end
    DOUBTFUL = 2  # a note: results may be wrong, or it may be meant
    NOTE = 3  # a note: it only costs time or memory, and the run is no less healthy for it

    @property
    def is_note(self) -> bool:
        return self >= Severity.DOUBTFUL


@dataclass(frozen=True, kw_only=True)
class RuleFinding:
    """A finding without a bad value: what the program does, and the consequence."""

    confidence: float
    why: str  # continues "<line> …"
    fix: str
    frame: Frame | None
    op: str
    harm: float = 0.0  # bytes a step
    step: int | None = None  # since when
    evidence: tuple[Evidence, ...] = ()
    about: tuple[str, ...] = ()  # of attention: the ops that put out the weights it is about
    effects: tuple[str, ...] = ()  # what follows from it, in words
    cause: str = ""  # only of a rule that has several; else it is the id of the rule
    severity: Severity | None = None  # only where it is not that of the rule

    @property
    def is_note(self) -> bool:
        return self.severity is not None and self.severity.is_note

    @property
    def rank(self) -> tuple[int, float, float]:
        """Return the sort key: wrong results first, then leaks, then notes; then by confidence and growth."""
        return int(self.severity or 0), -self.confidence, -self.harm


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule in its own file, under the name RULE, where `rules` finds it."""

    id: str  # the cause that its findings have, unless `causes` lists several
    severity: Severity
    find: Callable[[ProcessTrace], Iterator[RuleFinding]]
    causes: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()  # ids of rules that say the same, and say less, where this one finds something
    basis: Basis = Basis.COUNTED
    about_samples: bool = False  # the line that made their dataset is of interest
    is_symptom: bool = False  # a bad value of an earlier step is reason enough for it

    @property
    def slugs(self) -> tuple[str, ...]:
        """Return every cause that its findings can have."""
        return self.causes or (self.id,)

    def complete(self, found: RuleFinding) -> RuleFinding:
        """Fill in what the rule says for all of its findings."""
        severity = self.severity if found.severity is None else found.severity
        return replace(found, cause=found.cause or self.id, severity=severity)

    def to_finding(self, process: ProcessTrace, found: RuleFinding) -> Finding:
        """Put a completed finding into the words of `sleuth why`."""
        frame = marked(process, found.frame, found.cause, found.op)
        where = f"{frame.file}:{frame.line}" if frame is not None else "An unknown line"
        ops, fields = _ops_at(process, found), source_fields(process, frame)
        fields["layer"] = fields["layer"] or (ops.layer() if ops is not None else None)
        return Finding(
            cause=found.cause,
            confidence=found.confidence,
            severity="note" if found.is_note else "error",
            summary=f"{where} {found.why}.",
            **fields,
            op=found.op,
            name=found.op,
            step=found.step,
            **_position(process, found, ops),
            iteration=None,
            fix=found.fix,
            evidence=(*found.evidence, *(_dataset(process, found, ops) if self.about_samples else ())),
            effects=found.effects,
            basis=self.basis,
        )


def _ops_at(process: ProcessTrace, found: RuleFinding) -> LineOps | None:
    from tensorsleuth.diagnose.graph.line_ops import LineOps  # runs only where a rule finds something

    return LineOps(process, found.frame, found.op) if found.frame is not None else None


def _dataset(process: ProcessTrace, found: RuleFinding, ops: LineOps | None) -> Iterator[Evidence]:
    """Yield the line that made the dataset of the samples, if another line does."""
    from tensorsleuth.diagnose.inputs.dataset_lines import DatasetLines

    call = ops.first_call if ops is not None else None
    made = process.cached(DatasetLines).of_call(call) if call is not None else None
    if made is not None and found.frame is not None and made not in (found.frame, found.frame.shown_at):
        yield text_evidence("also", "dataset", "the samples come from here", made)


def _position(process: ProcessTrace, found: RuleFinding, ops: LineOps | None) -> dict[str, Any]:
    """Return the position in a Keras loop of the finding's step; without a step, of the first of its ops."""
    if Need.KERAS_BATCHES not in process.cached(recorded_parts):
        return {}
    return position_of_step(process, found.step) if found.step is not None or ops is None else ops.position()


def merge_same_line(found: Iterable[RuleFinding]) -> Iterator[RuleFinding]:
    """Yield the first of several findings that say the same of one line; it is about all of them."""
    kept: dict[tuple[str, Frame | None], RuleFinding] = {}
    for one in found:
        first = kept.setdefault((one.cause, one.frame), one)
        if first is not one:
            kept[one.cause, one.frame] = replace(first, about=(*first.about, *one.about))
    yield from kept.values()


def text_evidence(role: str, what: str, said: str, frame: Frame | None = None) -> Evidence:
    """Return evidence that is no single tensor: text in place of health, without dtype and shape."""
    line = f"{frame.file}:{frame.line}" if frame is not None else None
    return Evidence(role, what, what, "", None, said, line)
