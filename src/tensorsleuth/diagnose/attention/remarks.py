"""Remarks about the attention of a process: from its heads, and from `sleuth why`."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tensorsleuth.analyze.attention.heads import judge
from tensorsleuth.analyze.attention.remark import ERROR, NOTE, AttentionRemark
from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose import attention
from tensorsleuth.diagnose.attention.attention_graph import attention_line
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import RuleFinding
from tensorsleuth.diagnose.rules import RuleFindings, rules_in
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import AttentionSeries
from tensorsleuth.trace.series.layer_stats import LayerStatistics

PADDING_CAUSES = frozenset(
    [
        "mask-inverted", "mask-multiplied", "mask-of-queries", "mask-open", "no-causal-mask", "padding-unmasked",
        "token-dtype", "token-shape",
    ]
)  # fmt: skip
# What a head shows that a cause explains: it is not said twice.
EXPLAINED_BY = {
    "looks-ahead": frozenset(["mask-multiplied", "no-causal-mask"]),
    "off-sum": frozenset(["softmax-axis"]),
    "on-padding": PADDING_CAUSES,
}


def remarks_of(layer_statistics: LayerStatistics) -> list[AttentionRemark]:
    """Return the remarks, worst first."""
    process, seen = layer_statistics.process, layer_statistics.attention
    found = _rule_findings(process) if process is not None else []
    causes = [(one, finding) for one in seen for finding in found if one.op in finding.about]
    known = {(one.name, finding.cause) for one, finding in causes}
    heads = [one for one in judge(seen, layer_statistics.inputs) if not _is_explained(one, known)]
    return sorted([*_remarks(causes), *heads], key=lambda remark: remark.severity != ERROR)


def _rule_findings(process: ProcessTrace) -> list[RuleFinding]:
    return [one for rule in rules_in(attention) for one in process.cached(RuleFindings).of_rule(rule)]


def attention_lines(layer_statistics: LayerStatistics) -> dict[str, Frame]:
    """Return the line to look at for each attention, by name."""
    training = layer_statistics.process.cached(TrainingGraph) if layer_statistics.process is not None else None
    lines = ((one.name, attention_line(training, one)) for one in layer_statistics.attention if training is not None)
    return {name: line for name, line in lines if line is not None}


def _is_explained(attention_remark: AttentionRemark, known: set[tuple[str, str]]) -> bool:
    return any((attention_remark.layer, cause) in known for cause in EXPLAINED_BY.get(attention_remark.what, ()))


def _remarks(causes: list[tuple[AttentionSeries, RuleFinding]]) -> Iterator[AttentionRemark]:
    """Yield the remarks, each once: a remark about one attention is not repeated for the next."""
    told: dict[tuple[str, Frame | None], str] = {}
    for one, finding in causes:
        first = told.setdefault((finding.cause, finding.frame), one.name)
        yield _remark(one, finding, None if first == one.name else first)


def _remark(one: AttentionSeries, finding: RuleFinding, as_of: str | None) -> AttentionRemark:
    frame = finding.frame
    place = f"{os.path.basename(frame.file)}:{frame.line}" if frame is not None else "an unknown line"
    why = finding.why.replace(f" ({one.name})", "")
    words, heads = f"{place} {why}." if as_of is None else f"as {as_of}, {place}.", tuple(range(one.heads))
    severity, step = NOTE if finding.is_note else ERROR, finding.step
    file, line = (frame.file, frame.line) if frame is not None else (one.file, one.line)
    return AttentionRemark(finding.cause, severity, one.name, heads, one.heads, words, step, {}, file, line)
