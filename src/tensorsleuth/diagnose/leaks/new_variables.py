"""Variables that are made in every step, and stay."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops.kinds import VARIABLES
from tensorsleuth.diagnose.health_words import in_bytes, many
from tensorsleuth.diagnose.leaks.lifetimes import Kept, Lifetimes
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.trace.process.process import ProcessTrace

ASSIGN = "AssignVariableOp"


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    ops = {op.id for op in process.catalogue.eager.values() if op.type in VARIABLES}
    for one in Lifetimes(process).kept(ops) if ops and len(process.buffers) else ():
        yield _finding(process, one)


RULE = Rule(id="new-variables", severity=Severity.GROWS, find=find)


def _finding(process: ProcessTrace, one: Kept) -> RuleFinding:
    site = process.catalogue.sites.get(one.op.site)
    frame = site.frame if site is not None else None
    size = _bytes(process, one.uids)
    why = (
        f"makes a new variable in the steps: {one.alive:,} of its variables ({in_bytes(size)}) are alive at step "
        f"{one.last}, {one.alive / one.steps:.3g} more each step since step {one.first}, and it does not level off"
    )
    said = f"{many(one.alive, 'variable')} alive, {in_bytes(size)} in all"
    evidence = (piece("kept", one.op.type, said, frame),)
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_ONCE,
        frame=frame,
        op=one.op.type,
        harm=size / one.steps,
        step=one.first,
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
