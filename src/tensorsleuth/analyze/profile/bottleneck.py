"""The bottleneck of a program, in one sentence."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.profile import Profile
from tensorsleuth.analyze.profile.time_split import is_input
from tensorsleuth.analyze.profile.time_tables import OpCost
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.ops.kinds import INPUT_OPS
from tensorsleuth.trace.query.ops import Op


@dataclass(frozen=True)
class Bottleneck:
    """Input, compute or Python, its share of the time, and its line in the program."""

    by: str
    share: float
    says: str
    file: str | None = None
    line: int | None = None


def find_bottleneck(profile: Profile) -> Bottleneck:
    """Return the largest of the three parts that the program can change."""
    wall, parts = max(profile.wall, 1), profile.parts
    shares = {
        "compute": (parts["ops"] + parts["eager"] + parts["unseen"]) / wall,
        "input": parts["input"] / wall,
        "python": parts["python"] / wall,
    }
    by = max(shares, key=lambda name: shares[name])
    return {"compute": _compute, "input": _input, "python": _python}[by](profile, shares)


def _compute(profile: Profile, shares: dict[str, float]) -> Bottleneck:
    computing = [one for one in profile.op_costs if not one.op.type.startswith(INPUT_OPS)]
    says = f"Compute-bound: {_percent(shares['compute'])} of each step computes"
    top, time = _largest(computing)
    if top is None:
        return Bottleneck("compute", shares["compute"], f"{says}.")
    part = _percent(time / max(sum(one.time for one in computing), 1))
    what = f"{program_name(top.op.type)}, whose inside was not recorded," if top.kind == "unseen" else top.op.type
    layer = f" of {top.op.layer}" if top.op.layer else ""
    return Bottleneck(
        "compute", shares["compute"], f"{says}; {part} of that is {what}{layer}{_at(top.op)}.", *_line(top.op)
    )


def _largest(all_spent: list[OpCost]) -> tuple[OpCost | None, int]:
    """Return one op of the type, layer and line that took most time, and their time."""
    sums: dict[tuple[str, str | None, str | None, int | None], int] = defaultdict(int)
    for one in all_spent:
        sums[_place(one)] += one.time
    if not sums:
        return None, 0
    most = max(sums, key=lambda key: sums[key])
    return next(one for one in all_spent if _place(one) == most), sums[most]


def _place(one: OpCost) -> tuple[str, str | None, str | None, int | None]:
    return one.op.type, one.op.layer, one.op.file, one.op.line


def _input(profile: Profile, shares: dict[str, float]) -> Bottleneck:
    op = _waiting(profile)
    says = f"Input-bound: {_percent(shares['input'])} of each step waits for the next batch{_at(op)}"
    says += f"; computing takes {_percent(shares['compute'])}."
    return Bottleneck("input", shares["input"], says, *_line(op))


def _waiting(profile: Profile) -> Op | None:
    """Return the op that waited longest; in a function without a user line, the call of that function."""
    ops, made, run = profile.process_index.op_index.ops, profile.python_calls, profile.op_runs
    waits = np.flatnonzero(is_input(profile.process_index, run.op) & (run.call >= 0) & profile.within(run.end))
    if made.waits_for_input.any() or not len(waits):
        taken = np.flatnonzero(made.waits_for_input & profile.within(made.begin))
        longest = taken[np.argmax((made.end - made.begin)[taken])] if len(taken) else -1
        return ops[int(made.op[longest])] if longest >= 0 else None
    longest = waits[np.argmax((run.end - run.begin)[waits])]
    op = ops[int(run.op[longest])]
    calls = np.flatnonzero(made.call == run.call[longest])
    return op if op.file or not len(calls) else ops[int(made.op[calls[0]])]


def _python(profile: Profile, shares: dict[str, float]) -> Bottleneck:
    before, after = _around_gap(profile)
    says = f"Python-bound: {_percent(shares['python'])} of each step is Python between calls of TensorFlow"
    if before and after and before.file and after.file:
        apart = _where(before) != _where(after)
        says += f", most of it after {_where(before)}" + (f" and before {_where(after)}" if apart else "")
    return Bottleneck("python", shares["python"], f"{says}.", *_line(before))


def _around_gap(profile: Profile) -> tuple[Op | None, Op | None]:
    """Return the calls between which the most time passed outside of calls."""
    made, ops = profile.python_calls, profile.process_index.op_index.ops
    gaps = np.maximum(made.begin[1:] - made.probe_end[:-1], 0)
    pairs: dict[tuple[int, int], int] = defaultdict(int)
    for at in np.flatnonzero(profile.within(made.probe_end[:-1]) & (made.op[1:] >= 0) & (made.op[:-1] >= 0)).tolist():
        pairs[int(made.op[at]), int(made.op[at + 1])] += int(gaps[at])
    if not pairs:
        return None, None
    before, after = max(pairs, key=lambda pair: pairs[pair])
    return ops[before], ops[after]


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def _where(op: Op) -> str:
    return f"{os.path.basename(op.file or '?')}:{op.line}"


def _at(op: Op | None) -> str:
    return f" at {_where(op)}" if op is not None and op.file else ""


def _line(op: Op | None) -> tuple[str | None, int | None]:
    return (op.file, op.line) if op is not None else (None, None)
