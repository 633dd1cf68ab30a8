"""Ops that XLA computes silently and TensorFlow's own kernels refuse: an index out of range takes the last row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tensorsleuth.core.catalog import Failure, Frame, Node
from tensorsleuth.core.error_text import first_line
from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.diagnose.exits.failure import kind_of, node_of
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.position_table import CAUSE as POSITIONS
from tensorsleuth.diagnose.graph.position_table import Beyond, beyond_positions
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.tokens import token_ids
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.trace.process.process import ProcessTrace

SILENT = ("index-out-of-range",)  # of labels the loss is NaN: that is told as such


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    for failure in process.catalogue.hidden:
        if kind_of(failure.message).cause in SILENT and not _is_told_of_ids(process):
            yield _finding(process, failure)
            return


RULE = Rule(id="hidden-by-xla", severity=Severity.WRONG, find=find, causes=(*SILENT, POSITIONS), basis=Basis.BAD_VALUE)


def _is_told_of_ids(process: ProcessTrace) -> bool:
    """Ids that have no row are told with the batches that they came in."""
    return any(one.cause == "vocabulary" for one in token_ids.find(process))


@dataclass(frozen=True)
class _Asked:
    """An op that asks for what is not there."""

    op: str
    frame: Frame | None
    table: str | None


def _finding(process: ProcessTrace, failure: Failure) -> RuleFinding:
    moments, kind = process.once(Given).training.moments, kind_of(failure.message)
    asked = _asked(process, failure)
    beyond = beyond_positions(failure, (), moments)
    if beyond is not None:
        beyond = Beyond(beyond.rows, beyond.needed, asked.table)
    cause, words, fix = (
        (POSITIONS, beyond.words, beyond.fix) if beyond is not None else (kind.cause, kind.words, str(kind.fix))
    )
    why = (
        f"{words}. Uncompiled it raises; XLA, which compiles {program_name(failure.type)}, takes the last row instead, "
        "without a word"
    )
    evidence = (piece("in", asked.op, first_line(failure.message)),)
    return RuleFinding(
        cause=cause,
        confidence=0.92,
        why=why,
        fix=fix,
        frame=asked.frame,
        op=asked.op,
        step=moments.calls.step(failure.call),
        evidence=evidence,
    )


def _asked(process: ProcessTrace, failure: Failure) -> _Asked:
    place = node_of(process, failure)
    if place is None:
        return _Asked("Gather", None, None)
    instance, number, node = place
    table = process.once(Given).table(Spot(node.type, instance, process.catalogue.functions[instance.function], number))
    return _Asked(node.type, _line(process, node), table[0] if table is not None else None)


def _line(process: ProcessTrace, node: Node) -> Frame | None:
    site = process.catalogue.sites.get(node.forward.site if node.forward is not None else node.site)
    return site.frame if site is not None else None
