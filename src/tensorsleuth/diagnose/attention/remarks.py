"""Remarks about the attention of a process: from its heads, and from `sleuth why`."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tensorsleuth.analyze.attention.heads import judge
from tensorsleuth.analyze.attention.remark import ERROR, NOTE, Remark
from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose import attention
from tensorsleuth.diagnose.attention.attention_graph import line_of
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import RuleFinding
from tensorsleuth.diagnose.rules import RuleFindings, rules_in
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import Attention
from tensorsleuth.trace.series.layer_stats import Inside

OF_PADDING = frozenset(
    [
        "mask-inverted", "mask-multiplied", "mask-of-queries", "mask-open", "no-causal-mask", "padding-unmasked",
        "token-dtype", "token-shape",
    ]
)  # fmt: skip
# What a head shows that a cause explains: it is not said twice.
EXPLAINED = {
    "looks-ahead": frozenset(["mask-multiplied", "no-causal-mask"]),
    "off-sum": frozenset(["softmax-axis"]),
    "on-padding": OF_PADDING,
}


def remarks_of(inside: Inside) -> list[Remark]:
    """Worst first."""
    process, seen = inside.process, inside.attention
    found = _found(process) if process is not None else []
    causes = [(one, finding) for one in seen for finding in found if one.op in finding.about]
    known = {(one.name, finding.cause) for one, finding in causes}
    heads = [one for one in judge(seen, inside.inputs) if not _is_explained(one, known)]
    return sorted([*_remarks(causes), *heads], key=lambda remark: remark.severity != ERROR)


def _found(process: ProcessTrace) -> list[RuleFinding]:
    return [one for rule in rules_in(attention) for one in process.once(RuleFindings).of(rule)]


def lines_of(inside: Inside) -> dict[str, Frame]:
    """Return the line to look at for each attention, by name."""
    training = inside.process.once(Training) if inside.process is not None else None
    lines = ((one.name, line_of(training, one)) for one in inside.attention if training is not None)
    return {name: line for name, line in lines if line is not None}


def _is_explained(remark: Remark, known: set[tuple[str, str]]) -> bool:
    return any((remark.layer, cause) in known for cause in EXPLAINED.get(remark.what, ()))


def _remarks(causes: list[tuple[Attention, RuleFinding]]) -> Iterator[Remark]:
    """Yield the remarks, each once: a remark about one attention is not repeated for the next."""
    told: dict[tuple[str, Frame | None], str] = {}
    for one, finding in causes:
        first = told.setdefault((finding.cause, finding.frame), one.name)
        yield _remark(one, finding, None if first == one.name else first)


def _remark(one: Attention, finding: RuleFinding, as_of: str | None) -> Remark:
    frame = finding.frame
    place = f"{os.path.basename(frame.file)}:{frame.line}" if frame is not None else "an unknown line"
    why = finding.why.replace(f" ({one.name})", "")
    words, heads = f"{place} {why}." if as_of is None else f"as {as_of}, {place}.", tuple(range(one.heads))
    severity, step = NOTE if finding.is_note else ERROR, finding.step
    file, line = (frame.file, frame.line) if frame is not None else (one.file, one.line)
    return Remark(finding.cause, severity, one.name, heads, one.heads, words, step, {}, file, line)
