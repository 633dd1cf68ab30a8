"""Texts with control characters, byte order marks, or replacement characters of a failed decoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.texts import TextSummary, list_characters
from tensorsleuth.data.tokens.checks.text import MAX_WARNING_SHARE, change_for
from tensorsleuth.diagnose.inputs.text_ops import TextOps
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace

MAX_KNOWN_SHARE = 0.5  # of the bad texts, that came in at another line before: it is the same source


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    ops = process.cached(TextOps)
    seen = [_without_removed(one, ops) for one in process.catalogue.texts.values()] if ops.reads_text else []
    for frame, one in _sources(process, [one for one in seen if one.kinds]):
        yield _finding(frame, one)


RULE = Rule(id="stray-characters", severity=Severity.WRONG, find=find)


def _without_removed(one: TextSummary, ops: TextOps) -> TextSummary:
    """Return the counts without the characters that the program removes itself."""
    return replace(one, kinds={letter: count for letter, count in one.kinds.items() if not ops.removes(letter)})


def _sources(process: ProcessTrace, seen: list[TextSummary]) -> Iterator[tuple[Frame | None, TextSummary]]:
    """Yield one source for each line where texts enter; later lines that pass them on do not count."""
    lines: dict[Frame | None, TextSummary] = {}
    came_in: set[str] = {letter for one in seen if not one.drawn for letter in one.kinds}
    for one in seen:
        again = one.known > MAX_KNOWN_SHARE * one.broken or (one.drawn and came_in.issuperset(one.kinds))
        site = process.catalogue.sites.get(one.site)
        frame = site.frame if site is not None else None
        if not again and one.texts > getattr(lines.get(frame), "texts", 0):
            lines[frame] = one
    yield from lines.items()


def _finding(frame: Frame | None, one: TextSummary) -> RuleFinding:
    is_note = one.broken < MAX_WARNING_SHARE * one.texts
    why = (
        f"hands texts to TensorFlow: expected text without control characters, found {one.broken:,} of {one.texts:,} "
        f"sampled that hold {list_characters(one.kinds)}"
    )
    change = change_for(one.kinds)
    first = ", ".join(f"text {row} ({around})" for row, around in one.examples)
    evidence = (text_evidence("in", "texts", f"first in {first}"),) if first else ()
    fix = (change[:1].lower() + change[1:]).rstrip(".")
    return RuleFinding(
        confidence=0.6 if is_note else 0.9,
        why=why,
        fix=fix,
        frame=frame,
        op=one.by,
        evidence=evidence,
        severity=Severity.DOUBTFUL if is_note else Severity.WRONG,
    )
