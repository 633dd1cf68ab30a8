"""The slowest steps, and how they differ from typical ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.profile import Profile
from tensorsleuth.analyze.profile.time_split import PART_TITLES, PARTS

MAX_SLOW_STEPS = 5
SLOW_FACTOR = 1.1  # times a typical step


@dataclass(frozen=True)
class SlowStep:
    """A step, its nanoseconds, and the reason."""

    step: int
    time: int
    why: str
    times_usual: float


def slowest_steps(profile: Profile, most: int = MAX_SLOW_STEPS) -> list[SlowStep]:
    """Return the slowest steps, the slowest first, without steps of typical duration."""
    times = profile.steps.end - profile.steps.begin
    usual = max(int(np.median(times[profile.steps.typical])), 1) if len(times) else 1
    order = [at for at in np.argsort(-times, kind="stable")[:most].tolist() if times[at] > SLOW_FACTOR * usual]
    return [
        SlowStep(int(profile.steps.number[at]), int(times[at]), _why(profile, at), int(times[at]) / usual)
        for at in order
    ]


def _why(profile: Profile, at: int) -> str:
    steps = profile.steps
    first = [name for name in steps.first_runs[at] if name not in steps.retraced[at]]
    if steps.retraced[at]:
        return f"{', '.join(steps.retraced[at])} was retraced, for other arguments"
    if first:
        return f"first call of {', '.join(first)}: tracing and optimizing"
    return _excess(profile, at)


def _excess(profile: Profile, at: int) -> str:
    """Return the part that took longer than in a typical step."""
    usual = {name: float(np.median(profile.split.parts[name][profile.steps.typical])) for name in PARTS}
    more = {name: float(profile.split.parts[name][at]) - usual[name] for name in PARTS}
    name = max(more, key=lambda part: more[part])
    if more[name] <= 0.05 * sum(usual.values()):
        return "a little of everything"
    return f"{PART_TITLES[name]}: {_ms(float(profile.split.parts[name][at]))}, typically {_ms(usual[name])}"


def _ms(nanoseconds: float) -> str:
    ms = nanoseconds / 1e6
    return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.1f} ms" if ms >= 0.1 else "0 ms"
