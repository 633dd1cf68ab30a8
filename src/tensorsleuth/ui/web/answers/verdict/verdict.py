"""The verdict of `sleuth why`, with its tensors."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.confidence import confidence_words, unclear_words
from tensorsleuth.core.finding import Basis, Finding
from tensorsleuth.diagnose.violations import VIOLATION_CAUSE as VIOLATION
from tensorsleuth.ui.web.answers.verdict.ending import end_json
from tensorsleuth.ui.web.run import ids
from tensorsleuth.ui.web.run.nearest_tensor import latest_of_line
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters
from tensorsleuth.ui.web.run.violations import shown_violations


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a Verdict (web/src/api/types.ts)."""
    found = opened.diagnosis
    return {
        "verdict": found.verdict,
        "blind": found.blind,
        "unjudged": found.unjudged,
        "unclear": [doubt.to_json() for doubt in found.unclear],
        "unclear_words": unclear_words(found),
        "findings": [finding_json(opened, one) for one in found.findings],
        "masked": [finding_json(opened, one) for one in found.masked],
        "notes": [finding_json(opened, one) for one in found.notes],
        "end": end_json(opened, found.end),
    }


def finding_json(opened: OpenRun, finding: Finding) -> dict[str, Any]:
    """Return a Finding (web/src/api/types.ts)."""
    evidence = [
        {**said, "tensor": tensor_id(finding, piece.tensor)}
        for said, piece in zip(finding.to_json()["evidence"], finding.evidence, strict=True)
    ]
    hops = finding.hops or (None,) * len(finding.chain)
    chain = [{"text": text, "tensor": tensor_id(finding, hop)} for text, hop in zip(finding.chain, hops, strict=True)]
    return finding.to_json() | {
        "evidence": evidence,
        "chain": chain,
        "confidence_words": (said := confidence_words(finding, is_end=_is_end(opened, finding))),
        "counted": said if finding.basis is not Basis.BAD_VALUE else None,
        "logged": [said.words for said in finding.logged],
        "tensor": tensor_id(finding, finding.tensor) or _shown_for(opened, finding),
        "place": opened.sources.place(finding.file, finding.line, finding.function),
        "code_parts": _code_parts(finding),
    }


def _code_parts(finding: Finding) -> list[str] | None:
    """Return the line in three parts, the marked expression in the middle; None if no expression is marked."""
    text = dict(finding.source).get(finding.line or 0)
    if finding.columns is None or text is None:
        return None
    begin, end = finding.columns
    return [text[:begin].lstrip(), text[begin:end], text[end:].rstrip()]


def tensor_id(finding: Finding, number: int | None) -> str | None:
    return ids.make_id(finding.process, number) if number is not None and finding.process is not None else None


def _is_end(opened: OpenRun, finding: Finding) -> bool:
    end = opened.diagnosis.end
    return end is not None and end.kind == finding.cause


def _shown_for(opened: OpenRun, finding: Finding) -> str | None:
    """Return a tensor for a finding about a line: the one shown for a violation, else the line's last."""
    if finding.process is None or finding.file is None:
        return None
    wanted = finding.process, finding.file, finding.line, finding.name
    broke = (
        (one.place for one in shown_violations(opened) if one.rule_key[:4] == wanted)
        if finding.cause == VIOLATION
        else ()
    )
    place = next((place for place in broke if place is not None), None)
    if place is None:
        place = latest_of_line(opened, finding.process, finding.file, finding.line)
    return opened.table.id(place) if place is not None else None
