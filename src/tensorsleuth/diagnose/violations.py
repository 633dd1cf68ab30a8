"""What was not as the program expected: a finding for each place."""

from __future__ import annotations

from dataclasses import replace

from tensorsleuth.diagnose.quoted import lines_around
from tensorsleuth.model.catalog import Frame
from tensorsleuth.model.finding import Evidence, Finding
from tensorsleuth.model.violation import Violation
from tensorsleuth.trace.process import ProcessTrace

CAUSE = "violation"


def with_violations(process: ProcessTrace, found: list[Finding]) -> list[Finding]:
    """Violations before other findings, but behind the birth of the bad value that one of them saw."""
    broken = violations_of(process)
    if not broken:
        return found
    told = [_finding(process, one) for one in sorted(broken, key=lambda one: one.severity != "error")]
    first = process.catalogue.violations[0]
    explained = bool(found) and found[0].severity == "error" and _saw_bad(first)
    return [found[0], *told, *found[1:]] if explained else [*told, *found]


def _saw_bad(one: Violation) -> bool:
    return one.rule == "finite" or "NaN" in one.found or "infinite" in one.found


def violations_of(process: ProcessTrace) -> list[Violation]:
    """The first of each place and kind, with how often it came."""
    latest: dict[tuple[object, ...], tuple[Violation, int]] = {}
    for one in process.catalogue.violations:
        key = one.file, one.line, one.name, one.rule
        first = latest[key][0] if key in latest else one
        latest[key] = first, max(one.times, latest[key][1] if key in latest else 1)
    return [replace(one, times=times) for one, times in latest.values()]


def _finding(process: ProcessTrace, one: Violation) -> Finding:
    where = f"{one.file}:{one.line} " if one.file is not None else ""
    at = f" at step {one.step}" if one.step is not None and one.step >= 0 else ""
    return Finding(
        cause=CAUSE,
        confidence=1.0,
        severity="error",
        summary=f"{where}expects {one.expected} of {one.name}{at}.",
        file=one.file,
        line=one.line,
        function=one.function,
        code=one.code,
        op="expect",
        name=one.name,
        step=one.step,
        iteration=None,
        fix=one.change or "look at what computes it, and at the first values that broke it",
        evidence=(Evidence("out", one.name, "expect", _amount(one), None, _details(one), None),),
        seen=f"{one.times:,} times at this place; the first is shown" if one.times > 1 else None,
        source=tuple(_around(process, one)),
    )


def _amount(one: Violation) -> str:
    return one.amount or one.found


def _details(one: Violation) -> str:
    if not one.amount:
        return ""
    return one.found + (f"; first at {one.first}" if one.first else "")


def _around(process: ProcessTrace, one: Violation) -> list[tuple[int, str]]:
    if one.line is None:
        return []
    quoted = list(lines_around(process, Frame(one.file or "", one.line, one.function or "")))
    return quoted or ([(one.line, one.code)] if one.code is not None else [])
