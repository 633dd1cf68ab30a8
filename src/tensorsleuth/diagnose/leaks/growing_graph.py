"""TensorFlow 1 ops that are added to the graph in every step: the session optimizes and keeps each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.catalog import EagerOp, Function
from tensorsleuth.core.ops.kinds import SESSION_RUN
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.leaks.lifetimes import FEWEST_KEPT, FEWEST_STEPS, keeps_growing, quarters
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace

MIN_SHARE_OF_STEPS = 0.1  # that add ops: fewer do not slow the program down that a person would notice


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    graphs = [one for one in process.catalogue.functions.values() if one.name.startswith(SESSION_RUN)]
    if len(graphs) < FEWEST_KEPT:
        return
    steps = _first_steps(process)
    for site, new in _new_nodes(graphs).items():
        at = [(steps[function], count) for function, count in new if function in steps]
        if len({step for step, _ in at}) >= FEWEST_KEPT and _goes_on(at, max(steps.values())):
            is_often = len(at) >= MIN_SHARE_OF_STEPS * max(steps.values())
            yield _finding(process, site, at, Severity.GROWS if is_often else Severity.NOTE)


RULE = Rule(id="growing-graph", severity=Severity.GROWS, find=find)


def _first_steps(process: ProcessTrace) -> dict[int, int]:
    """Return the first step of each function."""
    instances = process.catalogue.instances
    functions = {op.id: instances[op.instance].function for op in _runs(process) if op.instance in instances}
    calls = process.calls[np.isin(process.calls["op"], list(functions))]
    steps: dict[int, int] = {}
    for op, step in zip(calls["op"].tolist(), calls["step"].tolist(), strict=True):
        steps.setdefault(functions[op], max(step, 0))
    return steps


def _runs(process: ProcessTrace) -> Iterator[EagerOp]:
    return (op for op in process.catalogue.eager.values() if op.type == SESSION_RUN)


def _new_nodes(graphs: list[Function]) -> dict[int, list[tuple[int, int]]]:
    """Return for each line the functions that add nodes of it, and how many."""
    known: dict[tuple[int, int], set[str]] = defaultdict(set)
    new: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for function in graphs:
        names: dict[int, set[str]] = defaultdict(set)
        for node in function.nodes:
            names[node.site].add(node.name)
        for site, found in names.items():
            fresh = found - known[function.graph, site]
            known[function.graph, site] |= found
            if fresh:
                new[site].append((function.id, len(fresh)))
    return new


def _goes_on(at: list[tuple[int, int]], last: int) -> bool:
    first = min(step for step, _ in at)
    if last - first + 1 < FEWEST_STEPS:
        return False
    steps, counts = (np.array(column, np.int64) for column in zip(*at, strict=True))
    return keeps_growing(np.array([counts[steps <= mark].sum() for mark in quarters(first, last)]))


def _finding(process: ProcessTrace, site: int, at: list[tuple[int, int]], severity: Severity) -> RuleFinding:
    place = process.catalogue.sites.get(site)
    frame = place.frame if place is not None else None
    first, ops = min(step for step, _ in at), sum(count for _, count in at)
    each = ops / len(at)
    why = (
        f"adds ops to the graph while the session runs it: about {each:.3g} each time, {ops:,} in {len(at):,} times by "
        f"now, since step {first}; the session optimises the graph anew for each, keeps them all, and gets slower"
    )
    said = f"{pluralise(ops, 'op')} of this line, in {pluralise(len(at), 'graph')} that the session ran"
    evidence = (text_evidence("kept", "graph", said, frame),)
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=_BUILD_ONCE,
        frame=frame,
        op=SESSION_RUN,
        harm=ops,
        step=first,
        evidence=evidence,
        severity=severity,
    )


_BUILD_ONCE = "build the op once, before the loop, and run that; tf.get_default_graph().finalize() finds such lines"
