"""Tensors that accumulate: in a list, a dict, an unbounded cache, an attribute of a layer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import VARIABLE_OPS
from tensorsleuth.diagnose.health_words import format_bytes, pluralise
from tensorsleuth.diagnose.leaks.keeping_line import find_keeping_line
from tensorsleuth.diagnose.leaks.lifetimes import LeakedTensors, Lifetimes
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace

MIN_TENSORS_PER_STEP = 0.25  # of the steps: what is kept once an epoch is a report
TOO_MANY_BYTES = 256 << 20  # bytes, that are too many however seldom they come


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    if not len(process.buffers):
        return
    eager = process.catalogue.eager
    ops = {op.id for op in eager.values() if op.type not in VARIABLE_OPS}
    kept = [
        one for one in Lifetimes(process).leaks(ops) if one.bytes and _matters(one) and not _is_used_up(process, one)
    ]
    told: set[tuple[str, int]] = set()
    for one in sorted(kept, key=lambda one: (_keeping_line(process, one) is None, -one.bytes)):
        finding = _finding(process, one)
        place = (finding.frame.file, finding.frame.line) if finding.frame is not None else ("", 0)
        if place not in told:
            told.add(place)
            yield finding


RULE = Rule(id="kept-tensors", severity=Severity.GROWS, find=find)


def _matters(one: LeakedTensors) -> bool:
    return one.alive >= MIN_TENSORS_PER_STEP * one.steps or one.bytes >= TOO_MANY_BYTES


def _is_used_up(process: ProcessTrace, one: LeakedTensors) -> bool:
    """Return whether one op consumed most of them together, such as a concatenation at the end of an epoch."""
    calls = process.calls
    taken = np.isin(calls["inputs"], one.uids).sum(axis=1)
    numbers, at = np.unique(calls["call"][taken > 0], return_inverse=True)
    together = np.bincount(at, taken[taken > 0]) if len(numbers) else np.zeros(1)
    return bool(together.max(initial=0) * 2 >= len(one.uids))


def _keeping_line(process: ProcessTrace, one: LeakedTensors) -> Frame | None:
    site = process.catalogue.sites.get(one.op.site)
    return find_keeping_line(process.catalogue, site) if site is not None else None


def _finding(process: ProcessTrace, one: LeakedTensors) -> RuleFinding:
    site = process.catalogue.sites.get(one.op.site)
    made = site.frame if site is not None else None
    kept = _keeping_line(process, one)
    elsewhere = kept is not None and made is not None and kept.line != made.line
    what = f"what {one.op.type} makes" + (f" in line {made.line}" if elsewhere and made is not None else "")
    why = (
        f"keeps {what}: {one.alive:,} tensors ({format_bytes(one.bytes)}) are alive at step {one.last_step}, "
        f"{format_bytes(one.bytes_per_step)} more each step since step {one.first_step}, and it does not level off"
    )
    said = f"{pluralise(one.alive, 'tensor')} alive, {format_bytes(one.bytes)} in all"
    evidence = (text_evidence("kept", one.op.type, said, made),)
    sure = 0.92 if kept is not None else 0.85
    return RuleFinding(
        confidence=sure,
        why=why,
        fix=_LET_GO,
        frame=kept or made,
        op=one.op.type,
        harm=one.bytes_per_step,
        step=one.first_step,
        evidence=evidence,
    )


_LET_GO = (
    "keep only what you need of it: float(x), a mean, the newest few (collections.deque(maxlen=…)), "
    "a cache with a bound"
)
