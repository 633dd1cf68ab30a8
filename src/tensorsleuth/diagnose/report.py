"""From a trace to findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorsleuth.diagnose.origin import Origin, OriginFinder
from tensorsleuth.diagnose.words import describe_health
from tensorsleuth.model.catalog import Frame, Site
from tensorsleuth.model.dtypes import dtype_of
from tensorsleuth.model.finding import Diagnosis, Evidence, Finding
from tensorsleuth.trace.process import ProcessTrace, Tensor
from tensorsleuth.trace.reader import Trace

AROUND = 2  # lines of source shown before and after
MAX_FINDINGS = 20


def diagnose(trace: Trace) -> Diagnosis:
    """What went wrong in a run, worst first."""
    findings = [finding for process in trace.processes for finding in _findings(process)]
    return Diagnosis(
        str(trace.path),
        tuple(findings[:MAX_FINDINGS]),
        tuple(trace.not_covered),
        tuple(trace.trouble),
        sum(process.event_count for process in trace.processes),
        max((int(p.calls["step"].max(initial=-1)) + 1 for p in trace.processes), default=0),
    )


def _findings(process: ProcessTrace) -> Iterator[Finding]:
    seen: set[tuple[str | None, int | None]] = set()
    for origin in OriginFinder(process).find():
        finding = _finding(origin)
        if (finding.file, finding.line) not in seen:
            seen.add((finding.file, finding.line))
            yield finding


def _finding(origin: Origin) -> Finding:
    frame = _blamed(origin)
    where = f"{frame.file}:{frame.line}" if frame else "an unknown line"
    bad = describe_health(origin.row)
    at = f" at step {origin.step}" if origin.step is not None and origin.step >= 0 else ""
    return Finding(
        cause="origin",
        confidence=0.5,
        severity="error",
        summary=f"{where}: {origin.tensor.type} made the first bad value{at} ({bad}); what went in was finite.",
        file=frame.file if frame else None,
        line=frame.line if frame else None,
        function=frame.function if frame else None,
        code=_code(origin.process, frame),
        op=origin.tensor.type,
        name=origin.tensor.name,
        step=origin.step,
        iteration=int(origin.row["iteration"]) if origin.tensor.eager is None else None,
        evidence=tuple(_evidence(origin)),
        source=tuple(_around(origin.process, frame)),
    )


def _blamed(origin: Origin) -> Frame | None:
    """The user's line of the op; for a gradient, of the op that it differentiates."""
    process, tensor = origin.process, origin.tensor
    site = tensor.site
    if tensor.node is not None and tensor.node.forward is not None:
        site = process.catalogue.sites.get(tensor.node.forward.site, site)
    elif tensor.eager is not None and tensor.eager.forward > 0:
        forward = process.catalogue.eager.get(tensor.eager.forward)
        site = process.catalogue.sites.get(forward.site, site) if forward else site
    return site.frame if site is not None else None


def _evidence(origin: Origin) -> Iterator[Evidence]:
    for row, tensor in origin.inputs:
        yield _piece(origin.process, "in", row, tensor)
    yield _piece(origin.process, "out", origin.row, origin.tensor)


def _piece(process: ProcessTrace, role: str, row: Any, tensor: Tensor) -> Evidence:
    return Evidence(
        role,
        tensor.name,
        tensor.type,
        dtype_of(int(row["dtype"])).name,
        process.shape_of(row),
        describe_health(row),
        _line(tensor.site),
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
