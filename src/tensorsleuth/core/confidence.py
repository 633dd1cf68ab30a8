"""The words of a verdict that the terminal, the page and reports share."""

from __future__ import annotations

from tensorsleuth.core.finding import Basis, Diagnosis, Finding
from tensorsleuth.core.formatting import plural
from tensorsleuth.core.ops.functions import CALLING_OPS

HIGH_CONFIDENCE, MEDIUM_CONFIDENCE = 0.9, 0.7
UNKNOWN_INPUTS = 0.2  # the confidence in an origin whose inputs may have been bad: their rows were overwritten


def confidence_words(finding: Finding, is_end: bool = False) -> str:
    """Return how far to trust a finding, and why; `is_end` means that it is about the end of the process."""
    if finding.cause == "origin" and finding.confidence <= UNKNOWN_INPUTS:
        return "low: an earlier value may have been NaN or infinite, its row was overwritten"
    if finding.cause == "origin" and finding.op in CALLING_OPS:
        return "low: it runs functions, and their ops were not recorded"
    if finding.cause == "origin" and not is_end:
        return "high for the line: its inputs were finite and its output was not. The reason is unknown"
    if finding.basis is Basis.COUNTED and finding.confidence < HIGH_CONFIDENCE:
        return "medium: it was counted in the recording, but it may be intended"
    if finding.basis is Basis.GRAPH:
        return f"high: {_why_high(finding)}"
    if finding.confidence >= HIGH_CONFIDENCE:
        return f"high: {'the process ended this way' if is_end else _why_high(finding)}"
    return (
        "medium: it fits what was recorded"
        if finding.confidence >= MEDIUM_CONFIDENCE
        else "low: other causes may fit as well"
    )


def _why_high(finding: Finding) -> str:
    if finding.cause == "violation":
        return "the expectation was checked on this tensor"
    if finding.basis is Basis.GRAPH:
        return "the graph is built this way"
    if finding.basis is Basis.COUNTED:
        return "it was counted in the recording"
    return _EXPLAINED if any(one.role == "out" for one in finding.evidence) else "the error says so"


def healthy_words(diagnosis: Diagnosis) -> str:
    """Return the sentence of a verdict without findings."""
    steps = f"{plural(diagnosis.steps, 'step')}, " if diagnosis.steps else ""
    return f"no problem found in {steps}{plural(diagnosis.events, 'tensor')}"


def unclear_words(diagnosis: Diagnosis) -> str:
    """Return the sentence of an unclear verdict: why nothing was recorded, or what is missing."""
    if diagnosis.unjudged or not diagnosis.unclear:
        return diagnosis.unjudged or ""
    return f"{healthy_words(diagnosis)}, but {diagnosis.unclear[0].what}"


def verdict_mark(diagnosis: Diagnosis) -> str:
    """Return the verdict as one word."""
    if diagnosis.unjudged and not diagnosis.findings:
        return "Unknown"
    return {"problem": "Problem", "healthy": "Healthy", "unknown": "Unclear"}[diagnosis.verdict]


def checked_problems(diagnosis: Diagnosis) -> str:
    """Return the kinds of problems that the recording could show, and why there are few."""
    if diagnosis.inside:
        return "NaN, ∞, dead layers, gradients, masks checked"
    why = "; sessions have no statistics of layers, gradients and masks" if diagnosis.in_sessions else ""
    return f"NaN, ∞ checked{why}"


_EXPLAINED = "its inputs explain it, and no earlier value was NaN or infinite"
