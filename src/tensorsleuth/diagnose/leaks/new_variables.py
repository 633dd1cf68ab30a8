"""Variables that are made in every step and never freed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops.kinds import VARIABLE_OPS
from tensorsleuth.diagnose.health_words import format_bytes, pluralise
from tensorsleuth.diagnose.leaks.lifetimes import LeakedTensors, Lifetimes
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace

ASSIGN = "AssignVariableOp"


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    ops = {op.id for op in process.catalogue.eager.values() if op.type in VARIABLE_OPS}
    for one in Lifetimes(process).leaks(ops) if ops and len(process.buffers) else ():
        yield _finding(process, one)


RULE = Rule(id="new-variables", severity=Severity.GROWS, find=find)


def _finding(process: ProcessTrace, one: LeakedTensors) -> RuleFinding:
    site = process.catalogue.sites.get(one.op.site)
    frame = site.frame if site is not None else None
    size = _bytes(process, one.uids)
    why = (
        f"makes a new variable in the steps: {one.alive:,} of its variables ({format_bytes(size)}) are alive at step "
        f"{one.last_step}, {one.alive / one.steps:.3g} more each step since step {one.first_step}, and it does "
        "not level off"
    )
    said = f"{pluralise(one.alive, 'variable')} alive, {format_bytes(size)} in all"
    evidence = (text_evidence("kept", one.op.type, said, frame),)
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_ONCE,
        frame=frame,
        op=one.op.type,
        harm=size / one.steps,
        step=one.first_step,
        evidence=evidence,
    )


def _bytes(process: ProcessTrace, handles: Array) -> int:
    """Return the bytes of the variables' initial values."""
    assigns = [op.id for op in process.catalogue.eager.values() if op.type == ASSIGN]
    calls = process.calls[np.isin(process.calls["op"], assigns)]
    values = calls["inputs"][np.isin(calls["inputs"][:, 0], handles.astype(np.uint64)), 1]
    events = process.events[process.events["kind"] == EventKind.EAGER]
    uids = events["iteration"].astype(np.uint64) | events["frame"].astype(np.uint64) << np.uint64(32)
    rows = events[np.isin(uids, values)]
    return sum(int(np.prod(process.shape_of(row) or ())) * dtype_of(int(row["dtype"])).itemsize for row in rows)


_ONCE = "make the variable once, before the loop or in the layer's build(), and assign to it: variable.assign(value)"
