"""Broken expectations: a finding for each place."""

from __future__ import annotations

import os
from dataclasses import replace

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Evidence, Finding
from tensorsleuth.core.violation import Violation
from tensorsleuth.diagnose.fatal_violation import fatal_violation, is_same_violation
from tensorsleuth.diagnose.finding_time import origin_time
from tensorsleuth.diagnose.log_messages import last_messages
from tensorsleuth.diagnose.source_lines import lines_around
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.ops import ARGUMENT

VIOLATION_CAUSE = "violation"


def add_violations(process: ProcessTrace, found: list[Finding]) -> list[Finding]:
    """Return violations before other findings, the one that ended the program first.

    But where there is a root, only what was broken before it is put before it.
    """
    broken = violations_of(process)
    if not broken:
        return found
    last = fatal_violation(process)
    ranked = sorted(broken, key=lambda one: (not is_same_violation(one, last), one.severity != "error"))
    told = [_finding(process, one, is_same_violation(one, last), len(ranked) > 1) for one in ranked]
    if not found or found[0].severity != "error":
        return [*(_with_maker(one, found) if _saw_bad_value(of) else one for one, of in zip(told, ranked)), *found]
    root, first = found[0], broken[0]
    if not _is_before(process, process.catalogue.violations[0], root):
        return [root, *told, *found[1:]]
    at = ranked.index(first)
    return [_with_consequence(told[at], root), root, *told[:at], *told[at + 1 :], *found[1:]]


def _is_before(process: ProcessTrace, one: Violation, root: Finding) -> bool:
    """Return whether it was broken before there was a bad value; then that is usually what came of it."""
    at = origin_time(process, root)
    return not _saw_bad_value(one) and (one.clock is None or at is None or one.clock <= at)


def _with_maker(finding: Finding, masked: list[Finding]) -> Finding:
    """Return the violation with the line that made the bad value, if the value went no further."""
    made = next((one for one in masked if one.line is not None and one.op != ARGUMENT), None)
    if made is None:
        return finding
    place = f"{os.path.basename(made.file or '?')}:{made.line}"
    seen = f"the bad value was made by {made.op} at {place}"
    return replace(
        finding,
        seen="; ".join(text for text in (finding.seen, seen) if text),
        chain=(f"{made.op} ({place})", _violation_hop(finding)),
        hops=(made.tensor, None),
    )


def _violation_hop(finding: Finding) -> str:
    return f"{finding.name} ({os.path.basename(finding.file or '?')}:{finding.line}, not as expected)"


def _with_consequence(finding: Finding, root: Finding) -> Finding:
    """Return the finding of a violation with what followed from it."""
    place = f"{os.path.basename(root.file)}:{root.line}" if root.file else "an unknown line"
    step = f" at step {root.step}" if root.step is not None and root.step >= 0 else ""
    what = "bad value" if root.chain else "failure"
    before = f"before the first {what}, of {root.op} at {place}{step}: usually its cause"
    after = root.chain or (f"{root.op} ({place}, failed)",)
    return replace(
        finding,
        seen="; ".join(text for text in (finding.seen, before) if text),
        chain=(_violation_hop(finding), *after),
        hops=(None, *(root.hops or (None,) * len(after))),
        path=root.path,
    )


def _saw_bad_value(one: Violation) -> bool:
    return one.rule == "finite" or "NaN" in one.found or "infinite" in one.found


def violations_of(process: ProcessTrace) -> list[Violation]:
    """The first of each place and kind, or that which ended the program, with how often it came."""
    latest: dict[tuple[object, ...], tuple[Violation, int]] = {}
    last = fatal_violation(process)
    for one in process.catalogue.violations:
        key = one.file, one.line, one.name, one.rule
        shown = latest[key][0] if key in latest and one is not last else one
        latest[key] = shown, max(one.times, latest[key][1] if key in latest else 1)
    return [replace(one, times=times) for one, times in latest.values()]


def _finding(process: ProcessTrace, one: Violation, last: bool, others: bool) -> Finding:
    where = f"{one.file}:{one.line} " if one.file is not None else ""
    part = f" ({one.where})" if one.where else ""
    at = f" at step {one.step}" if one.step is not None and one.step >= 0 else ""
    return Finding(
        cause=VIOLATION_CAUSE,
        confidence=1.0,
        severity="error",
        summary=f"{where}expects {one.expected} of {one.name}{part}{at}.",
        file=one.file,
        line=one.line,
        function=one.function,
        code=one.code,
        op="expect",
        name=one.name,
        step=one.step,
        iteration=None,
        fix=one.change or "look at what computes it, and at the first values that broke it",
        evidence=(Evidence("out", one.name, "expect", "", None, _details(one), None),),
        seen=_occurrences(one, last, others),
        logged=last_messages(process, one.clock, one.step),
        source=tuple(_source_lines(process, one)),
    )


def _occurrences(one: Violation, last: bool, others: bool) -> str | None:
    """Return the count in words; empty if it is the only one."""
    if one.times == 1:
        return "it ended the program" if last and others else None
    how = ", until it ended the program; the latest in the trace" if last else "; the first"
    return f"{one.times:,} times at this place{how} is shown"


def _details(one: Violation) -> str:
    amount = f"{one.amount}: " if one.amount else ""
    return amount + one.found + (f"; first at {one.first}" if one.amount and one.first else "")


def _source_lines(process: ProcessTrace, one: Violation) -> list[tuple[int, str]]:
    if one.line is None:
        return []
    quoted = list(lines_around(process, Frame(one.file or "", one.line, one.function or "")))
    return quoted or ([(one.line, one.code)] if one.code is not None else [])
