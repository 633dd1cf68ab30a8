"""From a trace to findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from tensorsleuth.core.catalog import Frame, Site
from tensorsleuth.core.confidence import UNKNOWN_INPUTS
from tensorsleuth.core.finding import Diagnosis, Doubt, Evidence, Finding
from tensorsleuth.core.layout.rows import NO_UID
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops.kinds import SESSION_RUN
from tensorsleuth.core.run_end import RunEnd
from tensorsleuth.diagnose.cluster import ProcessFindings, merge_findings, task_name, worker_of
from tensorsleuth.diagnose.effects import explain_collapse, fold_effects, look_inside
from tensorsleuth.diagnose.expressions import marked
from tensorsleuth.diagnose.graph.layer_lines import LayerLines
from tensorsleuth.diagnose.health_words import evidence_of
from tensorsleuth.diagnose.log_messages import add_log_messages
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.causes import explain
from tensorsleuth.diagnose.nan.data_source import arrival_batch, data_frame
from tensorsleuth.diagnose.nan.origins import OriginFinder
from tensorsleuth.diagnose.nan.path import chain_of
from tensorsleuth.diagnose.nan.replica_blame import ReplicaBlame
from tensorsleuth.diagnose.no_data import explain_no_data
from tensorsleuth.diagnose.replay_note import describe_replay
from tensorsleuth.diagnose.rules import rule_findings, symptoms
from tensorsleuth.diagnose.source_lines import batch_of_call, fit_position, source_fields
from tensorsleuth.diagnose.violations import add_violations
from tensorsleuth.trace.dataflow.call_graph import CallGraph
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.process.remote_rows import CoordinatorTrace
from tensorsleuth.trace.reader import Trace, open_trace
from tensorsleuth.trace.run_summary import ended_well, step_count

MAX_FINDINGS = 20
MAX_EVIDENCE = 6
RECORD_ALL = "record it again with a larger circular_buffer_size (0 keeps all rows)"
CONTRADICTION_ERRORS = (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)


def diagnose(trace: Trace | str | Path | None = None) -> Diagnosis:
    """Return the diagnosis of a run, the root cause first. Takes a trace, or what `open` takes."""
    with np.errstate(all="ignore"):  # rules compute with numbers that overflow, and no warning of theirs helps anybody
        return _diagnose(trace)


def _diagnose(trace: Trace | str | Path | None) -> Diagnosis:
    if not isinstance(trace, Trace):
        trace = open_trace(trace)
    end = trace.meta.get("ended", {})
    found, trouble = _all_findings(trace, end.get("exit") if isinstance(end, dict) else None)
    is_over = ended_well(trace)
    found, end_of_run, unclear = _with_exit(trace, found) if not is_over else (found, None, [])
    findings = list({(one.file, one.line, one.cause, one.severity): one for one in reversed(found)}.values())[::-1]
    blind = _mode_without_values(trace)
    unseen = {"what": "the values of tensors", "why": f"mode {blind} does not record them", "site": 0}
    problems = tuple(finding for finding in findings if finding.severity == "error")[:MAX_FINDINGS]
    notes = tuple(finding for finding in findings if finding.severity == "note")[:MAX_FINDINGS]
    trouble = [*trace.trouble, *trouble, *unclear]
    return Diagnosis(
        str(trace.path),
        problems,
        tuple(finding for finding in findings if finding.severity == "masked")[:MAX_FINDINGS],
        (*trace.not_covered, *([unseen] if blind else [])),
        tuple(trouble),
        sum(process.event_count for process in trace.processes),
        max(map(step_count, trace.processes), default=0),
        blind,
        partial(_end_of, trace) if is_over else lambda: (end_of_run, []),
        notes,
        unjudged := explain_no_data(trace) if not any(one.event_count for one in trace.processes) else None,
        any(process.catalogue.series for process in trace.processes) and bool(trace.inside()),
        any(op.type == SESSION_RUN for process in trace.processes for op in process.catalogue.eager.values()),
        is_over,
        _doubts(trace, blind, trouble, notes) if not problems and unjudged is None else (),
    )


def _with_exit(trace: Trace, found: list[Finding]) -> tuple[list[Finding], RunEnd | None, list[str]]:
    """Add the end of a program that did not end well. All that knows of ends is imported only for such a program."""
    from tensorsleuth.diagnose.exits.add_exit import add_exit_finding

    return add_exit_finding(trace, found)


def _end_of(trace: Trace) -> tuple[RunEnd | None, list[str]]:
    from tensorsleuth.diagnose.exits.add_exit import find_end

    return find_end(trace)


def _doubts(trace: Trace, blind: str | None, trouble: list[str], notes: tuple[Finding, ...]) -> tuple[Doubt, ...]:
    from tensorsleuth.diagnose.doubts import find_doubts

    return find_doubts(trace, blind, trouble, notes)


def _all_findings(trace: Trace, exit_code: int | None) -> tuple[list[Finding], list[str]]:
    """Return the findings of all processes; a contradictory trace costs a line, not the verdict on the others."""
    found: ProcessFindings = []
    from_rules: list[Finding] = []  # of all processes behind what went bad in any
    trouble: list[str] = []
    for number, process in enumerate(trace.processes):
        try:
            told = findings_of(process, exit_code)
            told = _with_context(process, look_inside(told) if len(told) > 1 else told)
            also = rule_findings(process)
            if told and also:
                told, also = fold_effects(*explain_collapse(told, also), symptoms(process))
            found.append((process, [replace(one, process=number) for one in told]))
            from_rules += [replace(one, process=number, worker=task_name(process)) for one in also]
            process.release_memory()
        except CONTRADICTION_ERRORS as error:
            if os.environ.get("SLEUTH_DEBUG"):
                raise
            trouble.append(f"the trace in {process.folder} contradicts itself ({error!r})")
    is_cluster = any("task" in process.catalogue.meta for process in trace.processes)
    merged = merge_findings(found) if is_cluster else [one for _, told in found for one in told]
    return [*merged, *from_rules], trouble


def _with_context(process: ProcessTrace, found: list[Finding]) -> list[Finding]:
    """Add violations, and the messages that the program had logged."""
    found = add_violations(process, found) if process.catalogue.violations else found
    return add_log_messages(process, found) if process.catalogue.logs else found


def _mode_without_values(trace: Trace) -> str | None:
    """The mode of a run of which no value was looked at."""
    settings = [process.catalogue.meta.get("settings") for process in trace.processes]
    modes = {str(one.get("mode")) for one in settings if isinstance(one, dict)}
    return next(iter(modes)) if len(modes) == 1 and modes <= {Mode.NO_TENSOR.name, Mode.SHAPE.name} else None


def findings_of(process: ProcessTrace, exit_code: int | None = None) -> list[Finding]:
    """Return one process's findings: its failure, then origins that did harm, then those that were masked."""
    fatal, may_follow = _failure(process, exit_code) if process.catalogue.failures else ([], False)
    found, raised = _origin_findings(process)
    follows = bool(found) and found[0].severity == "error" and bool(fatal)
    follows = follows and (may_follow or fatal[0].call in raised)
    return [found[0], *fatal, *found[1:]] if follows else [*fatal, *found]


def _failure(process: ProcessTrace, exit_code: int | None) -> tuple[list[Finding], bool]:
    """Return the finding of the error that ended the program, if one did, and whether a bad value may lead to it."""
    from tensorsleuth.diagnose.exits.failure import MAY_FOLLOW_BAD_VALUE, find_fatal_error
    from tensorsleuth.diagnose.exits.failure_finding import failure_finding

    death = find_fatal_error(process, exit_code)
    fatal = [failure_finding(process, death)] if death is not None else []
    return fatal, any(one.cause in MAY_FOLLOW_BAD_VALUE for one in fatal)


def _origin_findings(process: ProcessTrace) -> tuple[list[Finding], set[int]]:
    """Return what bad values did, and the calls that raised because of the first."""
    found: list[Finding] = []
    finder = OriginFinder(process)
    cases = [Case(finder, birth) for birth in finder.find()]
    told = _without_gaps([_ExplainedCase(case) for case in cases])
    born = [one for one in told if not one.masked and not one.case.origin.from_outside]
    # a number that Python reads, and nothing else, explains nothing of what goes wrong elsewhere
    first = min((one.call for one in [one for one in born if not one.is_aside(born)] or born), default=None)
    harmful = [one for one in told if not one.masked and one.call == first]
    told = [
        one for one in told if not one.is_intended(told) and not one.was_fed_back(first) and not one.follows(harmful)
    ]
    told = [one for one in told if not one.was_handed_on(told)]
    ranked = sorted(told, key=lambda one: (one.masked, one.is_aside(told), one.rank))
    seen: set[tuple[str | None, int | None, str]] = set()
    for one in ranked:
        finding = one.finding
        key = finding.file, finding.line, finding.severity
        if key not in seen and not _is_repeated(finding, found) and not (one.is_growth and _has_cause(finding, found)):
            seen.add(key)
            found.append(finding)
    return found, {failed.call for one in ranked[:1] for failed in one.case.spread.raised.values()}


def _without_gaps(cases: list[_ExplainedCase]) -> list[_ExplainedCase]:
    """Leave out those whose inputs may have been overwritten, if a known origin did harm before them."""
    known = [one.call for one in cases if not one.is_behind_gap and not one.masked]
    return [one for one in cases if not (one.is_behind_gap and known and min(known) < one.call)]


def _is_repeated(finding: Finding, found: list[Finding]) -> bool:
    """Is a masked one the same line and cause as one that did harm."""
    same = (one for one in found if (one.file, one.line) == (finding.file, finding.line))
    return finding.severity == "masked" and _has_cause(finding, same)


def _has_cause(finding: Finding, found: Iterable[Finding]) -> bool:
    return any(one.cause == finding.cause for one in found)


class _ExplainedCase:
    """A case with the story that explains it."""

    def __init__(self, case: Case) -> None:
        self.is_behind_gap = case.origin.is_behind_gap
        told = explain(case) if not self.is_behind_gap else None
        self.case: Case = told[0] if told is not None else case
        self.explanation: Explanation | None = told[1] if told is not None else None
        self.masked = not case.spread.did_harm
        self._is_gradient = case.differentiates is not None

    @property
    def is_growth(self) -> bool:
        return self.explanation is not None and self.explanation.cause in ("learning-rate", "exploding-recurrence")

    @property
    def call(self) -> int:
        return self.case.origin.call_graph.call

    def was_fed_back(self, first: int | None) -> bool:
        """It was computed before, went to Python, and was fed again."""
        return self.case.origin.from_outside and first is not None and self.call > max(first, 0)

    def was_handed_on(self, others: list[_ExplainedCase]) -> bool:
        """It came in before, and a dataset handed it on in batches."""
        arrived = [other for other in others if other.case.origin.from_outside and other is not self]
        return self.case.origin.from_outside and any(
            self.case.out.key in other.case.spread.reached for other in arrived
        )

    def follows(self, first: list[_ExplainedCase]) -> bool:
        """It came after the first that did harm, and has no story, or bad values went into what went into it."""
        if not first or self.call <= first[0].call:
            return self._is_finite_in_replay and any(
                one.explanation is not None and one.call == self.call for one in first
            )
        return self.explanation is None or any(one.taints(self.case) for one in first)

    @property
    def _is_finite_in_replay(self) -> bool:
        """Did a call leave it bad, and write finite numbers when it was run again: kernels treat a NaN differently."""
        return (
            self.explanation is None
            and self.case.variable_write is not None
            and self.call in self.case.process.catalogue.replays
        )

    def taints(self, other: Case) -> bool:
        """Was what went into another case made of what this one spoiled, as a pool makes a finite number of a NaN."""
        slots = [
            slot
            for one in other.inputs
            if one.row is not None
            for slot in other.finder.call_graphs.graph_of(one).inputs_of(one)
        ]
        return any(one.bad and one.key in self.case.spread.reached for slot in slots for one in slot)

    def is_intended(self, others: list[_ExplainedCase]) -> bool:
        """−∞ in a table from outside, where it is the arithmetic on it that made the NaN."""
        birth = self.case.origin
        if not birth.from_outside or birth.out.has_nan or birth.out.count("pos_inf") or self.case.spread.enters_product:
            return False
        made = [other for other in others if other.explanation is not None and other.case.origin.from_infinity]
        return any(other.case.out.key in self.case.spread.reached for other in made)

    def is_aside(self, others: list[_ExplainedCase]) -> bool:
        """Return whether it is only a printed number: no other bad value comes of its call, or of its gradient."""
        spoiling = [one for one in others if not one.masked and not one._is_only_read]
        return self._is_only_read and not any(one.call == self.call or one._differentiates(self) for one in spoiling)

    @property
    def _is_only_read(self) -> bool:
        """Return whether it got to Python, and to no variable or op that raised."""
        spread = self.case.spread
        return bool(spread.results) and not (spread.variables or spread.refused or spread.raised)

    def _differentiates(self, other: _ExplainedCase) -> bool:
        """Return whether it is of the gradient of the other's op: a tape asks for gradients of the loss in a call of
        its own, and the slope is infinite where the loss is."""
        return self._is_gradient and not other._is_gradient and self.case.site == other.case.site

    @property
    def rank(self) -> tuple[bool, bool]:
        """Order what was computed before what was written, and a forward pass before its gradient."""
        return self.case.variable_write is not None, self._is_gradient

    @property
    def finding(self) -> Finding:
        case, story = self.case, self.explanation
        cause = story.cause if story else "origin"
        frame = marked(case.process, self._frame, cause, case.op)
        fields = source_fields(case.process, frame)
        fields["layer"] = case.layer if self._is_at_op else fields["layer"]
        row = case.out.row
        computed = story.computed if story else None
        chain = chain_of(case.spread, _HandleNames(case), computed) if not self.masked else ()
        return Finding(
            cause=cause,
            confidence=story.confidence if story else UNKNOWN_INPUTS if self.is_behind_gap else 0.4,
            severity="masked" if self.masked else "error",
            summary=self._summary(frame),
            **fields,
            op=case.op,
            name=case.node_name,
            step=self._arrival.step,
            iteration=int(row["iteration"]) if case.out.tensor.eager is None and row is not None else None,
            fix=story.fix if story else RECORD_ALL if self.is_behind_gap else None,
            **fit_position(case.process, self._arrival.call),
            evidence=tuple(self._evidence())[:MAX_EVIDENCE],
            chain=tuple(hop.text for hop in chain),
            seen=_describe_replay(case.process, case.origin.call_graph.call),
            worker=worker_of(case.out) if isinstance(case.process, CoordinatorTrace) else None,
            replica=self._replica_blame.replica if self._replica_blame else None,
            others=self._replica_blame.others if self._replica_blame and not self.masked else None,
            call=self.call if self.call >= 0 else None,
            tensor=self._event_index(case.out),
            hops=tuple(self._event_index(hop.tensor) if hop.tensor is not None else None for hop in chain),
            path=tuple(place for one in case.spread.path if (place := self._event_index(one)) is not None),
        )

    @property
    def _arrival(self) -> CallGraph:
        """When it was born; of what a dataset handed over, when the program got it."""
        birth = self.case.origin
        batch = arrival_batch(self.case) if birth.from_outside else None
        return self.case.finder.call_graphs.graph_of(batch) if batch is not None else birth.call_graph

    def _event_index(self, one: ObservedTensor) -> int | None:
        return self.case.finder.call_graphs.event_number(one)

    @cached_property
    def _replica_blame(self) -> ReplicaBlame | None:
        """Eager code runs on no replica."""
        return ReplicaBlame(self.case) if self.case.origin.out.tensor.node is not None else None

    @property
    def _is_at_op(self) -> bool:
        """Is the line to change that of the op."""
        return self.explanation is None or self.explanation.frame is None

    @property
    def _frame(self) -> Frame | None:
        if self.explanation is not None and self.explanation.frame is not None:
            return self.explanation.frame
        frame = self._own_frame
        return frame if frame is not None else self.case.calling_line

    @property
    def _own_frame(self) -> Frame | None:
        site: Site | None = self.explanation.site if self.explanation is not None else None
        if site is not None:
            return data_frame(self.case, site)
        site = self.case.site
        if not self.case.layer:
            return site.frame if site is not None else None
        return LayerLines(self.case.process).line(site, self.case.layer, self.case.op)

    def _place(self, frame: Frame | None) -> str:
        """Return the line in words; an op of a function that was loaded has only the line of the call."""
        if frame is None:
            return "an unknown line"
        explained = self.explanation is not None and self.explanation.frame is not None
        is_call = not explained and self._own_frame is None
        return f"{frame.file}:{frame.line}{f', in {self.case.op} of the function that it calls' if is_call else ''}"

    def _summary(self, frame: Frame | None) -> str:
        where = self._place(frame)
        comma = "," if ", in " in where else ""
        there = self.case.origin.call_graph
        step, batch = there.step, batch_of_call(self.case.process, there.call)
        fit = f" ({batch})" if batch is not None and str(batch) else ""
        at = f" at step {step}{fit}" if step is not None and step >= 0 and self._arrival is there else ""
        blame = self._replica_blame
        at += f" on {blame.replica}" if blame is not None and blame.replica else ""
        if self.explanation is not None:
            return f"{where}{comma} {self.explanation.why}{at if self.explanation.is_timed else ''}."
        if self.is_behind_gap:
            return (
                f"{where}: {self.case.op} is NaN or infinite{at}, and earlier rows that may show why were overwritten."
            )
        return f"{where}: {self.case.op} produced the first NaN or infinity from finite inputs{at}."

    def _evidence(self) -> Iterator[Evidence]:
        case = self.case
        outside = case.origin.from_outside  # then constants are only how it was read
        looked = [one for one in case.inputs if _is_recorded(one) or (one.constant is not None and not outside)]
        inputs = sorted(looked, key=lambda one: one.row is None)
        also = self.explanation.evidence if self.explanation is not None else ()
        own = {id(one) for one in case.own_inputs}
        pieces = [("in" if id(one) in own else "also", one) for one in inputs[: MAX_EVIDENCE - 2]]
        for role, one in (*pieces, ("out", case.out), *(("also", one) for one in also)):
            piece = evidence_of(role, one, self._event_index(one))
            made = self.explanation.computed if self.explanation is not None and role == "out" else None
            yield replace(piece, name=f"{piece.name} as {made}", op=made) if made is not None else piece


class _HandleNames(dict[int, str]):
    """Names of variables, found when asked for."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self._variables = case.finder.variables

    def get(self, handle: int, default: str = "") -> str:  # type: ignore[override]
        return self._variables.name(handle) if handle != NO_UID else default


def _is_recorded(one: ObservedTensor) -> bool:
    return one.row is not None and one.has_health


def _describe_replay(process: ProcessTrace, call: int) -> str | None:
    return describe_replay(process, call) if process.catalogue.replays else None
