"""Puts what a program ended of among what was found in it."""

from __future__ import annotations

import os
from dataclasses import replace

from tensorsleuth.core.finding import Finding
from tensorsleuth.core.last_moments import LastMoments
from tensorsleuth.diagnose.exits.batch_that_fits import fits
from tensorsleuth.diagnose.exits.end import End
from tensorsleuth.diagnose.exits.failure import OUT_OF_MEMORY
from tensorsleuth.diagnose.exits.kinds import explain
from tensorsleuth.trace.reader import Trace

AROUND = 2
BY_SOMEBODY = ("killed", "cut-short")
_FULL = ("killed-out-of-memory", "aborted-out-of-memory")
_CONTRADICTIONS = (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)


def with_end(trace: Trace, found: list[Finding]) -> tuple[list[Finding], LastMoments | None, list[str]]:
    """The findings with that of the end in front; all about the end; and what of it could not be told."""
    try:
        return (*_with_end(trace, found), [])
    except _CONTRADICTIONS as error:
        if os.environ.get("SLEUTH_DEBUG"):
            raise
        return found, None, [f"how the program ended: the trace contradicts itself ({error!r})"]


def _with_end(trace: Trace, found: list[Finding]) -> tuple[list[Finding], LastMoments | None]:
    end = End.of(trace)
    if end is None or (end.alive and not end.hang):
        return found, None
    told = explain(end)
    if told is None or (told.cause == "exception" and any(one.severity == "error" for one in found)):
        return found, _of_what_was_found(end, found)  # an exception follows from what was found
    finding = end.finding(told)
    lines = end.process.catalogue.sources.get(finding.file or "", "").splitlines()
    line = finding.line or 0
    numbers = range(max(1, line - AROUND), min(len(lines), line + AROUND) + 1) if line else range(0)
    source = tuple((number, lines[number - 1]) for number in numbers)
    first = replace(finding, source=source, process=trace.processes.index(end.process))
    moments = end.moments(told)
    return _ranked(first, found), _with_fits(end, moments) if told.cause in _FULL else moments


def _with_fits(end: End, moments: LastMoments) -> LastMoments:
    return replace(moments, memory=replace(end.memory, fits=fits(end)))


def _of_what_was_found(end: End, found: list[Finding]) -> LastMoments:
    """Add the tensors in memory to a finding of an op that ran out of memory."""
    moments = end.moments(None)
    if not found or found[0].cause != OUT_OF_MEMORY or not moments.exit:
        return moments
    return replace(_with_fits(end, moments), kind=OUT_OF_MEMORY, sentence=found[0].summary)


def _ranked(end: Finding, found: list[Finding]) -> list[Finding]:
    """Return the findings with the end first, unless a program that went bad may have been killed for that."""
    bad = [one for one in found if one.severity == "error"] if end.cause in BY_SOMEBODY else []
    return [*bad, end, *found[len(bad) :]] if bad == found[: len(bad)] else [end, *found]
