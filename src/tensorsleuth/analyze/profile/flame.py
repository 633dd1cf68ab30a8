"""Bars of what ran when: a lane for each thread, and in it the function, the layers, the op."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.profile import Profile
from tensorsleuth.analyze.profile.time_split import is_input
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.trace.query.ops import Op

PIPELINE = "input pipeline"


@dataclass(frozen=True)
class FlameBar:
    """An interval on a thread; times in nanoseconds, as in rows."""

    thread: int
    depth: int
    kind: str  # call, eager, input, function, layer or op
    name: str
    begin: int
    end: int
    op: Op | None = None
    event: int = -1  # its output, if that has a row


@dataclass(frozen=True)
class _Leaf:
    call: int
    path: tuple[tuple[str, str], ...]  # kind and name of the enclosing bars, outermost first
    bar: FlameBar


def flame_bars(profile: Profile, begin: int, end: int) -> list[FlameBar]:
    """Return all bars of an interval: Python's thread first, then threads that ran functions."""
    return [*_python(profile, begin, end), *_threads(profile, begin, end)]


def _python(profile: Profile, begin: int, end: int) -> Iterator[FlameBar]:
    made, ops = profile.python_calls, profile.process_index.op_index.ops
    for at in np.flatnonzero((made.end > begin) & (made.begin < end) & (made.end > made.begin)).tolist():
        op = ops[int(made.op[at])] if made.op[at] >= 0 else None
        name = program_name(op.type) if op and made.is_function[at] else op.type if op else "?"
        kind = "call" if made.is_function[at] else "input" if made.waits_for_input[at] else "eager"
        yield FlameBar(made.thread, 0, kind, name, int(made.begin[at]), int(made.end[at]), op)


def _threads(profile: Profile, begin: int, end: int) -> Iterator[FlameBar]:
    run = profile.op_runs
    inside = np.flatnonzero((run.end > begin) & (run.begin < end) & ~run.is_extra_output)
    inside = inside[np.lexsort((run.begin[inside], run.thread[inside]))]
    waits = is_input(profile.process_index, run.op)
    functions = _functions(profile)
    leaves: dict[int, list[_Leaf]] = {}
    for at in inside.tolist():
        op, call, thread = profile.process_index.op_index.ops[int(run.op[at])], int(run.call[at]), int(run.thread[at])
        layers = tuple(("layer", name) for name in (op.layer or "").split("/") if name)
        path = (
            layers if thread == profile.python_calls.thread else (("function", functions.get(call, PIPELINE)), *layers)
        )
        kind = "input" if waits[at] else "op"
        depth = len(path) + (thread == profile.python_calls.thread)  # there the call itself is the outermost bar
        flame_bar = FlameBar(thread, depth, kind, op.type, int(run.begin[at]), int(run.end[at]), op, int(run.event[at]))
        leaves.setdefault(thread, []).append(_Leaf(call, path, flame_bar))
    for thread in sorted(leaves):
        yield from _nested(leaves[thread])


def _functions(profile: Profile) -> dict[int, str]:
    """Return the name of the function of each call."""
    made, ops = profile.python_calls, profile.process_index.op_index.ops
    known = np.flatnonzero(made.is_function & (made.op >= 0)).tolist()
    return {int(made.call[at]): program_name(ops[int(made.op[at])].type) for at in known}


def _nested(leaves: list[_Leaf]) -> Iterator[FlameBar]:
    """Yield the ops of a thread in order, and bars around consecutive ops of the same function or layer."""
    depth = 0
    while any(len(leaf.path) > depth for leaf in leaves):
        yield from _level(leaves, depth)
        depth += 1
    yield from (leaf.bar for leaf in leaves)


def _level(leaves: list[_Leaf], depth: int) -> Iterator[FlameBar]:
    opened: FlameBar | None = None
    inside: object = None
    for leaf in leaves:
        around = (leaf.call, leaf.path[: depth + 1]) if len(leaf.path) > depth else None
        if opened is not None and around == inside:
            opened = _longer(opened, leaf.bar.end)
            continue
        if opened is not None:
            yield opened
        inside, bar = around, leaf.bar
        below = bar.depth - len(leaf.path)
        opened = FlameBar(bar.thread, depth + below, *leaf.path[depth], bar.begin, bar.end) if around else None
    if opened is not None:
        yield opened


def _longer(flame_bar: FlameBar, end: int) -> FlameBar:
    return FlameBar(flame_bar.thread, flame_bar.depth, flame_bar.kind, flame_bar.name, flame_bar.begin, end)
