"""The bars of one training step: what ran when, and where the time went."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.profile.flame import FlameBar, flame_bars
from tensorsleuth.analyze.profile.profile import Profile, busiest_process
from tensorsleuth.analyze.profile.python_calls import PythonCalls, read_python_calls
from tensorsleuth.analyze.profile.steps import StepBounds, steps_of
from tensorsleuth.analyze.profile.time_split import PART_TITLES
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.errors import BadRequest
from tensorsleuth.ui.web.run.ids import make_id
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

MAX_BARS = 4000  # shorter bars are counted as left out
MAX_SLOWEST = 8
NO_STEPS: Answer = {"step": None, "previous": None, "next": None, "from": 0, "to": 0, "leftOut": 0} | {
    name: [] for name in ("slowest", "split", "lanes", "bars")
}


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a Flame (web/src/api/types.ts)."""
    wanted = parameters.optional_integer(asked, "step")
    if not opened.trace.processes:
        return NO_STEPS
    number = busiest_process(opened.trace)
    made, steps = opened.cache("flame", number, lambda: _steps(opened, number))
    if not len(steps):
        return NO_STEPS
    step = _typical_step(steps) if wanted is None else wanted
    if step not in steps.number:
        said = f"Step {step} was not recorded."
        raise BadRequest(said, f"The recorded steps are {steps.number.min()} to {steps.number.max()}.")
    profile = Profile(opened.table.process_indexes[number], step, True, (made, steps))
    return _flame_json(opened, profile, step, number)


def _steps(opened: OpenRun, number: int) -> tuple[PythonCalls, StepBounds]:
    asked = opened.table.process_indexes[number]
    made = read_python_calls(asked)
    return made, steps_of(asked, made)


def _typical_step(step_bounds: StepBounds) -> int:
    """Return the step of median duration."""
    at = np.flatnonzero(step_bounds.typical)
    order = at[np.argsort((step_bounds.end - step_bounds.begin)[at], kind="stable")]
    return int(step_bounds.number[order[len(order) // 2]])


def _flame_json(opened: OpenRun, profile: Profile, step: int, number: int) -> Answer:
    begin, end = profile.time_range
    seen = flame_bars(profile, begin, end)
    shown = sorted(
        sorted(seen, key=lambda bar: bar.begin - bar.end)[:MAX_BARS], key=lambda bar: (bar.thread, bar.begin)
    )
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


def _threads(profile: Profile, shown: list[FlameBar]) -> list[int]:
    """Return a sort key that puts Python's thread first."""
    others = {bar.thread for bar in shown} - {profile.python_calls.thread}
    return [profile.python_calls.thread, *sorted(others)]


def _lane(profile: Profile, thread: int, shown: list[FlameBar]) -> dict[str, Any]:
    name = "Python" if thread == profile.python_calls.thread else f"thread {thread}"
    return {"name": name, "depth": max((bar.depth + 1 for bar in shown if bar.thread == thread), default=1)}


def _bar(flame_bar: FlameBar, threads: list[int], begin: int, process: int) -> dict[str, Any]:
    op = flame_bar.op
    return {
        "lane": threads.index(flame_bar.thread),
        "depth": flame_bar.depth,
        "kind": flame_bar.kind,
        "name": flame_bar.name,
        "from": (flame_bar.begin - begin) / 1e9,
        "to": (flame_bar.end - begin) / 1e9,
        "op": op.name if op is not None and op.name != flame_bar.name else None,
        "place": f"{op.file.rpartition('/')[2]}:{op.line}" if op is not None and op.file else None,
        "layer": op.layer if op is not None else None,
        "tensor": make_id(process, flame_bar.event) if flame_bar.event >= 0 else None,
    }


def _neighbours(step_bounds: StepBounds, step: int) -> dict[str, int | None]:
    """Return the recorded steps before and after: numbers may be missing."""
    numbers = np.unique(step_bounds.number)
    at = int(np.searchsorted(numbers, step))
    before, after = numbers[:at][-1:].tolist(), numbers[at + 1 :][:1].tolist()
    return {"previous": before[0] if before else None, "next": after[0] if after else None}


def _split(profile: Profile) -> list[dict[str, Any]]:
    wall = max(profile.wall, 1)
    return [
        {"part": part, "words": PART_TITLES[part], "seconds": time / 1e9, "share": time / wall}
        for part, time in profile.parts.items()
    ]


def _slowest(step_bounds: StepBounds) -> list[dict[str, Any]]:
    times = step_bounds.end - step_bounds.begin
    order = np.argsort(-times, kind="stable")[:MAX_SLOWEST].tolist()
    return [
        {
            "step": int(step_bounds.number[at]),
            "seconds": int(times[at]) / 1e9,
            "first": bool(step_bounds.first_runs[at]),
        }
        for at in order
    ]
