"""Adds the end of a program to the findings of its run."""

from __future__ import annotations

import os
from dataclasses import replace

from tensorsleuth.core.finding import Finding
from tensorsleuth.core.run_end import RunEnd
from tensorsleuth.diagnose.exits.failure import DTYPE_MISMATCH, OUT_OF_MEMORY
from tensorsleuth.diagnose.exits.fitting_batch import describe_fitting_batch
from tensorsleuth.diagnose.exits.kinds import explain_exit
from tensorsleuth.diagnose.exits.kinds.exception import SAYS_WHY
from tensorsleuth.diagnose.exits.process_exit import ProcessExit
from tensorsleuth.diagnose.exits.shape_story import SHAPE_MISMATCH
from tensorsleuth.trace.reader import Trace

CONTEXT_LINES = 2
KILL_CAUSES = ("killed", "cut-short")
_OUT_OF_MEMORY_CAUSES = ("killed-out-of-memory", "aborted-out-of-memory")
_CONTRADICTION_ERRORS = (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)


def add_exit_finding(trace: Trace, found: list[Finding]) -> tuple[list[Finding], RunEnd | None, list[str]]:
    """Return the findings with the end first, the end itself, and the parts of it that could not be read."""
    try:
        return (*_add_exit_finding(trace, found), [])
    except _CONTRADICTION_ERRORS as error:
        return found, None, [_contradiction(error)]


def find_end(trace: Trace) -> tuple[RunEnd | None, list[str]]:
    """Gather the end of a program that ended well, and what of it could not be told."""
    try:
        end = ProcessExit.of_trace(trace)
        return end.run_end(None) if end is not None else None, []
    except _CONTRADICTION_ERRORS as error:
        return None, [_contradiction(error)]


def _contradiction(error: Exception) -> str:
    if os.environ.get("SLEUTH_DEBUG"):
        raise error
    return f"how the program ended: the trace contradicts itself ({error!r})"


def _add_exit_finding(trace: Trace, found: list[Finding]) -> tuple[list[Finding], RunEnd | None]:
    end = ProcessExit.of_trace(trace)
    if end is None or (end.alive and not end.hang_notes):
        return found, None
    told = explain_exit(end)
    if told is None or _is_told(told.cause, end, found):
        return found, _end_of_failure(end, found)
    finding = end.finding(told)
    lines = end.process.catalogue.sources.get(finding.file or "", "").splitlines()
    line = finding.line or 0
    numbers = range(max(1, line - CONTEXT_LINES), min(len(lines), line + CONTEXT_LINES) + 1) if line else range(0)
    source = tuple((number, lines[number - 1]) for number in numbers)
    first = replace(finding, source=source, process=trace.processes.index(end.process))
    moments = end.run_end(told)
    return _ranked(first, found), _with_fitting_batch(end, moments) if told.cause in _OUT_OF_MEMORY_CAUSES else moments


def _is_told(cause: str, process_exit: ProcessExit, found: list[Finding]) -> bool:
    """An exception follows from what was found, unless it is about names or types; shapes do not follow from values."""
    problems = [one.cause for one in found if one.severity == "error"]
    if cause == "exception" and process_exit.uncaught is not None and process_exit.uncaught.type in SAYS_WHY:
        return False
    return bool(problems) if cause == "exception" else cause in (SHAPE_MISMATCH, DTYPE_MISMATCH) and cause in problems


def _with_fitting_batch(process_exit: ProcessExit, moments: RunEnd) -> RunEnd:
    return replace(moments, memory=replace(process_exit.memory, fits=describe_fitting_batch(process_exit)))


def _end_of_failure(process_exit: ProcessExit, found: list[Finding]) -> RunEnd:
    """Add the tensors in memory to a finding of an op that ran out of memory."""
    moments = process_exit.run_end(None)
    if not found or found[0].cause != OUT_OF_MEMORY or not moments.exit:
        return moments
    return replace(_with_fitting_batch(process_exit, moments), kind=OUT_OF_MEMORY, sentence=found[0].summary)


def _ranked(end: Finding, found: list[Finding]) -> list[Finding]:
    """Return the findings with the end first, unless a program that had gone bad was killed or died of its own bug."""
    bad = [one for one in found if one.severity == "error"] if end.cause in (*KILL_CAUSES, "exception") else []
    return [*bad, end, *found[len(bad) :]] if bad == found[: len(bad)] else [end, *found]
