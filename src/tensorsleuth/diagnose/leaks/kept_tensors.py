"""Tensors that pile up: in a list, a dict, a cache without a bound, an attribute of a layer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import VARIABLES
from tensorsleuth.diagnose.health_words import in_bytes, many
from tensorsleuth.diagnose.leaks.keeping_line import keeper
from tensorsleuth.diagnose.leaks.lifetimes import Kept, Lifetimes
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.trace.process.process import ProcessTrace

OFTEN = 0.25  # of the steps: what is kept once an epoch is a report
MUCH = 256 << 20  # bytes, that are too many however seldom they come


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    if not len(process.buffers):
        return
    eager = process.catalogue.eager
    ops = {op.id for op in eager.values() if op.type not in VARIABLES}
    kept = [
        one for one in Lifetimes(process).kept(ops) if one.bytes and _matters(one) and not _is_used_up(process, one)
    ]
    told: set[tuple[str, int]] = set()
    for one in sorted(kept, key=lambda one: (_keeper(process, one) is None, -one.bytes)):
        finding = _finding(process, one)
        place = (finding.frame.file, finding.frame.line) if finding.frame is not None else ("", 0)
        if place not in told:
            told.add(place)
            yield finding


RULE = Rule(id="kept-tensors", severity=Severity.GROWS, find=find)


def _matters(one: Kept) -> bool:
    return one.alive >= OFTEN * one.steps or one.bytes >= MUCH


def _is_used_up(process: ProcessTrace, one: Kept) -> bool:
    """Did one op take most of them together, as a concatenation does at the end of an epoch: they were collected."""
    calls = process.calls
    taken = np.isin(calls["inputs"], one.uids).sum(axis=1)
    numbers, at = np.unique(calls["call"][taken > 0], return_inverse=True)
    together = np.bincount(at, taken[taken > 0]) if len(numbers) else np.zeros(1)
    return bool(together.max(initial=0) * 2 >= len(one.uids))


def _keeper(process: ProcessTrace, one: Kept) -> Frame | None:
    site = process.catalogue.sites.get(one.op.site)
    return keeper(process.catalogue, site) if site is not None else None


def _finding(process: ProcessTrace, one: Kept) -> RuleFinding:
    site = process.catalogue.sites.get(one.op.site)
    made = site.frame if site is not None else None
    kept = _keeper(process, one)
    elsewhere = kept is not None and made is not None and kept.line != made.line
    what = f"what {one.op.type} makes" + (f" in line {made.line}" if elsewhere and made is not None else "")
    why = (
        f"keeps {what}: {one.alive:,} tensors ({in_bytes(one.bytes)}) are alive at step {one.last}, "
        f"{in_bytes(one.a_step)} more each step since step {one.first}, and it does not level off"
    )
    said = f"{many(one.alive, 'tensor')} alive, {in_bytes(one.bytes)} in all"
    evidence = (piece("kept", one.op.type, said, made),)
    sure = 0.92 if kept is not None else 0.85
    return RuleFinding(
        confidence=sure,
        why=why,
        fix=_LET_GO,
        frame=kept or made,
        op=one.op.type,
        harm=one.a_step,
        step=one.first,
        evidence=evidence,
    )


_LET_GO = (
    "keep only what you need of it: float(x), a mean, the newest few (collections.deque(maxlen=…)), "
    "a cache with a bound"
)
