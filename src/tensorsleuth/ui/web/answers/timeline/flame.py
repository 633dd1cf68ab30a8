"""The bars of one training step: what ran when, and where its time went."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.profile.flame import Bar, bars
from tensorsleuth.analyze.profile.profile import Profile, busiest
from tensorsleuth.analyze.profile.python_calls import Made, calls_made
from tensorsleuth.analyze.profile.steps import Steps, steps_of
from tensorsleuth.analyze.profile.time_split import WORDS
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.errors import BadQuestion
from tensorsleuth.ui.web.run.ids import name_of
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

MOST = 4000  # bars; what is shorter than these is told as left out
SLOWEST = 8
NOTHING: Answer = {"step": None, "previous": None, "next": None, "from": 0, "to": 0, "leftOut": 0} | {
    name: [] for name in ("slowest", "split", "lanes", "bars")
}


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """A Flame of types.ts."""
    wanted = parameters.whole_or_none(asked, "step")
    if not opened.trace.processes:
        return NOTHING
    number = busiest(opened.trace)
    made, steps = opened.keep("flame", number, lambda: _steps(opened, number))
    if not len(steps):
        return NOTHING
    step = _usual(steps) if wanted is None else wanted
    if step not in steps.number:
        said = f"Step {step} was not recorded."
        raise BadQuestion(said, f"There are steps {steps.number.min()} to {steps.number.max()}.")
    profile = Profile(opened.table.asked[number], step, True, (made, steps))
    return _told(opened, profile, step, number)


def _steps(opened: OpenRun, number: int) -> tuple[Made, Steps]:
    asked = opened.table.asked[number]
    made = calls_made(asked)
    return made, steps_of(asked, made)


def _usual(steps: Steps) -> int:
    """The step in the middle, by how long they took."""
    at = np.flatnonzero(steps.usual)
    order = at[np.argsort((steps.end - steps.begin)[at], kind="stable")]
    return int(steps.number[order[len(order) // 2]])


def _told(opened: OpenRun, profile: Profile, step: int, number: int) -> Answer:
    begin, end = profile.stretch
    seen = bars(profile, begin, end)
    shown = sorted(sorted(seen, key=lambda bar: bar.begin - bar.end)[:MOST], key=lambda bar: (bar.thread, bar.begin))
    threads = _threads(profile, shown)
    zero = opened.table.lanes.seconds(number, np.array([begin, end]))
    return {
        "step": step,
        **_neighbours(profile.steps, step),
        "slowest": _slowest(profile.steps),
        "split": _split(profile),
        "from": float(zero[0]),
        "to": float(zero[1]),
        "lanes": [_lane(profile, thread, shown) for thread in threads],
        "bars": [_bar(bar, threads, begin, number) for bar in shown],
        "leftOut": len(seen) - len(shown),
    }


def _threads(profile: Profile, shown: list[Bar]) -> list[int]:
    """Python's thread first."""
    others = {bar.thread for bar in shown} - {profile.made.thread}
    return [profile.made.thread, *sorted(others)]


def _lane(profile: Profile, thread: int, shown: list[Bar]) -> dict[str, Any]:
    name = "Python" if thread == profile.made.thread else f"thread {thread}"
    return {"name": name, "depth": max((bar.depth + 1 for bar in shown if bar.thread == thread), default=1)}


def _bar(bar: Bar, threads: list[int], begin: int, process: int) -> dict[str, Any]:
    op = bar.op
    return {
        "lane": threads.index(bar.thread),
        "depth": bar.depth,
        "kind": bar.kind,
        "name": bar.name,
        "from": (bar.begin - begin) / 1e9,
        "to": (bar.end - begin) / 1e9,
        "op": op.name if op is not None and op.name != bar.name else None,
        "place": f"{op.file.rpartition('/')[2]}:{op.line}" if op is not None and op.file else None,
        "layer": op.layer if op is not None else None,
        "tensor": name_of(process, bar.event) if bar.event >= 0 else None,
    }


def _neighbours(steps: Steps, step: int) -> dict[str, int | None]:
    """The recorded steps before and after: not every number needs to be among them."""
    numbers = np.unique(steps.number)
    at = int(np.searchsorted(numbers, step))
    before, after = numbers[:at][-1:].tolist(), numbers[at + 1 :][:1].tolist()
    return {"previous": before[0] if before else None, "next": after[0] if after else None}


def _split(profile: Profile) -> list[dict[str, Any]]:
    wall = max(profile.wall, 1)
    return [
        {"part": part, "words": WORDS[part], "seconds": time / 1e9, "share": time / wall}
        for part, time in profile.parts.items()
    ]


def _slowest(steps: Steps) -> list[dict[str, Any]]:
    times = steps.end - steps.begin
    order = np.argsort(-times, kind="stable")[:SLOWEST].tolist()
    return [
        {"step": int(steps.number[at]), "seconds": int(times[at]) / 1e9, "first": bool(steps.new[at])} for at in order
    ]
