"""Errors that XLA hides: TensorFlow's own kernels refuse an index out of range, XLA takes the last row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tensorsleuth.core.catalog import FailedCall, Frame, Node
from tensorsleuth.core.error_text import first_line
from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.position_table import POSITION_CAUSE as POSITIONS
from tensorsleuth.diagnose.graph.position_table import PositionOverrun, position_overrun
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.tokens import token_ids
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace

SILENT_CAUSES = ("index-out-of-range",)  # of labels the loss is NaN: that is told as such


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    for failure in process.catalogue.hidden_failures:
        from tensorsleuth.diagnose.exits.failure import error_kind  # few programs have any

        if error_kind(failure.message).cause in SILENT_CAUSES and not _is_reported_by_ids(process):
            yield _finding(process, failure)
            return


RULE = Rule(
    id="hidden-by-xla", severity=Severity.WRONG, find=find, causes=(*SILENT_CAUSES, POSITIONS), basis=Basis.BAD_VALUE
)


def _is_reported_by_ids(process: ProcessTrace) -> bool:
    """Return whether the rule of ids without a row reports it, with the batches that had them."""
    return any(one.cause == "vocabulary" for one in token_ids.find(process))


@dataclass(frozen=True)
class _FailingLookup:
    """A lookup of a row that does not exist."""

    op: str
    frame: Frame | None
    table: str | None


def _finding(process: ProcessTrace, failed_call: FailedCall) -> RuleFinding:
    from tensorsleuth.diagnose.exits.failure import error_kind

    call_graphs, kind = process.cached(ModelInputs).training.call_graphs, error_kind(failed_call.message)
    asked = _failing_lookup(process, failed_call)
    overrun = position_overrun(failed_call, (), call_graphs)
    if overrun is not None:
        overrun = PositionOverrun(overrun.rows, overrun.needed_rows, asked.table)
    cause, words, fix = (
        (POSITIONS, overrun.words, overrun.fix) if overrun is not None else (kind.cause, kind.words, str(kind.fix))
    )
    why = (
        f"{words}. Uncompiled it raises; XLA, which compiles {program_name(failed_call.type)}, takes the last "
        "row instead, without a word"
    )
    evidence = (text_evidence("in", asked.op, first_line(failed_call.message)),)
    return RuleFinding(
        cause=cause,
        confidence=0.92,
        why=why,
        fix=fix,
        frame=asked.frame,
        op=asked.op,
        step=call_graphs.calls.step(failed_call.call),
        evidence=evidence,
    )


def _failing_lookup(process: ProcessTrace, failed_call: FailedCall) -> _FailingLookup:
    from tensorsleuth.diagnose.exits.failure import failing_node

    place = failing_node(process, failed_call)
    if place is None:
        return _FailingLookup("Gather", None, None)
    instance, number, node = place
    table = process.cached(ModelInputs).table_of(
        OpNode(node.type, instance, process.catalogue.functions[instance.function], number)
    )
    return _FailingLookup(node.type, _line(process, node), table[0] if table is not None else None)


def _line(process: ProcessTrace, node: Node) -> Frame | None:
    site = process.catalogue.sites.get(node.forward.site if node.forward is not None else node.site)
    return site.frame if site is not None else None
