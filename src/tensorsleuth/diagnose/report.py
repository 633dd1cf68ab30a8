"""From a trace to findings."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.diagnose.case import Case, Story
from tensorsleuth.diagnose.causes import explain
from tensorsleuth.diagnose.failure import Death, find_death
from tensorsleuth.trace.observed import Observed
from tensorsleuth.diagnose.origin import OriginFinder
from tensorsleuth.diagnose.words import describe_health
from tensorsleuth.model.catalog import Frame, Site
from tensorsleuth.model.dtypes import dtype_of
from tensorsleuth.model.finding import Diagnosis, Evidence, Finding
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.reader import Trace

AROUND = 2  # lines of source shown before and after
MAX_FINDINGS = 20


def diagnose(trace: Trace) -> Diagnosis:
    """What went wrong in a run, worst first."""
    end = trace.meta.get("ended", {})
    findings = [finding for process in trace.processes for finding in _findings(process, end.get("exit"))]
    return Diagnosis(
        str(trace.path),
        tuple(finding for finding in findings if finding.severity == "error")[:MAX_FINDINGS],
        tuple(finding for finding in findings if finding.severity == "masked")[:MAX_FINDINGS],
        tuple(trace.not_covered),
        tuple(trace.trouble),
        sum(process.event_count for process in trace.processes),
        max((int(p.calls["step"].max(initial=-1)) + 1 for p in trace.processes), default=0),
    )


def _findings(process: ProcessTrace, exit_code: int | None) -> Iterator[Finding]:
    death = find_death(process, exit_code)
    if death is not None:
        yield _fatal(process, death)
    seen: set[tuple[str | None, int | None, str]] = set()
    cases = sorted(map(Case, OriginFinder(process).find()), key=_rank)
    for case in cases:
        finding = _finding(case, explain(case))
        key = finding.file, finding.line, finding.severity
        spoiled = case.op == "ReadVariableOp" and bool(seen)  # by what was found before
        if key not in seen and not spoiled:
            seen.add(key)
            yield finding


def _rank(case: Case) -> tuple[bool, bool, bool]:
    """Harm before none; a forward pass before its gradient; an op before the variable that it spoiled."""
    return case.origin.masked, case.op == "ReadVariableOp", case.differentiates is not None


def _finding(case: Case, story: Story | None) -> Finding:
    frame = case.site.frame if case.site is not None else None
    row, step = case.out.row, case.origin.step
    return Finding(
        cause=story.cause if story else "origin",
        confidence=story.confidence if story else 0.4,
        severity="masked" if case.origin.masked else "error",
        summary=_summary(case, story, frame),
        file=frame.file if frame else None,
        line=frame.line if frame else None,
        function=frame.function if frame else None,
        code=_code(case.process, frame),
        op=case.op,
        name=case.out.tensor.name,
        step=step,
        iteration=int(row["iteration"]) if case.out.tensor.eager is None and row is not None else None,
        fix=story.fix if story else None,
        evidence=tuple(_evidence(case)),
        source=tuple(_around(case.process, frame)),
    )


def _fatal(process: ProcessTrace, death: Death) -> Finding:
    frame = death.site.frame if death.site is not None else None
    message = death.failure.message.split("[[")[0].strip().splitlines()
    return Finding(
        cause=death.cause,
        confidence=0.9 if death.fix else 0.5,
        severity="error",
        summary=f"{frame.file if frame else '?'}:{frame.line if frame else 0} {death.op} raised {death.failure.type}: "
        f"{message[-1].strip() if message else ''}",
        file=frame.file if frame else None,
        line=frame.line if frame else None,
        function=frame.function if frame else None,
        code=_code(process, frame),
        op=death.op,
        name=death.name,
        step=death.step,
        iteration=None,
        fix=death.fix,
        evidence=tuple(Evidence("in", "", "", text, None, "") for text in death.failure.inputs),
        source=tuple(_around(process, frame)),
    )


def _summary(case: Case, story: Story | None, frame: Frame | None) -> str:
    where = f"{frame.file}:{frame.line}" if frame else "a line that is not known"
    at = f" at step {case.origin.step}" if case.origin.step is not None and case.origin.step >= 0 else ""
    what = story.why if story else f"{case.op} made the first bad value, from inputs that were all finite"
    return f"{where} {what}{at}." if story else f"{where}: {what}{at}."


def _evidence(case: Case) -> Iterator[Evidence]:
    for one in case.inputs:
        yield _piece("in", one)
    yield _piece("out", case.out)


def _piece(role: str, one: Observed) -> Evidence:
    row = one.row
    return Evidence(
        role,
        one.tensor.name,
        one.tensor.type,
        dtype_of(int(row["dtype"])).name if row is not None else "constant",
        one.shape,
        describe_health(row) if row is not None else ", ".join(f"{value:g}" for value in one.constant or ()),
        _line(one.tensor.site),
    )


def _line(site: Site | None) -> str | None:
    return f"{site.frame.file}:{site.frame.line}" if site is not None and site.frame is not None else None


def _code(process: ProcessTrace, frame: Frame | None) -> str | None:
    for number, text in _around(process, frame):
        if frame is not None and number == frame.line:
            return text.strip()
    return None


def _around(process: ProcessTrace, frame: Frame | None) -> Iterator[tuple[int, str]]:
    text = process.catalogue.sources.get(frame.file) if frame is not None else None
    if text is None or frame is None:
        return
    lines = text.splitlines()
    for number in range(max(1, frame.line - AROUND), min(len(lines), frame.line + AROUND) + 1):
        yield number, lines[number - 1]
