"""The limits that watching must keep, and which of them a run misses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import median

from bench.zoo.harness.figures import CLOCKS, LONG, STEP, Figures
from bench.zoo.harness.variants import BARE, TITLES

EACH: dict[str, dict[str, float]] = {
    STEP: {"default": 1.06, "full": 1.25, "flight": 1.03, "guard": 1.05},
    LONG: {"default": 1.08, "flight": 1.04},
}
"""The most that each program may take over the bare one, in time and in processor time, by quantity and variant."""

MEDIAN: dict[str, dict[str, float]] = {STEP: {"full": 1.10}}
"""The most that the median of the programs may take."""

PEAK: dict[str, tuple[float, float]] = {"default": (1.05, 30e6)}
"""Peak memory: a factor of the bare program's, and bytes above that."""

QUANTITIES = {STEP: "steady step", LONG: "program of 20 s"}
NO_BUDGET = "there is no budget yet, so the default records every step in full."
SHORT_STEPS = "most steps are short, and what a recording does for each op and call takes a larger part of them."
REASONS = {(STEP, "default"): NO_BUDGET, (LONG, "default"): NO_BUDGET, (STEP, "full"): SHORT_STEPS}
NO_REASON = "no reason is known yet."
NO_FIGURE = "there is no figure to compare."


@dataclass(frozen=True)
class Miss:
    """A limit that some programs miss, or their median."""

    what: str
    variant: str
    limit: str
    programs: str
    reason: str

    def __str__(self) -> str:
        return f"**{self.what}, {TITLES[self.variant]}** ({self.limit}) is missed by {self.programs}: {self.reason}"


def is_kept(figure: Mapping[str, float | None], limit: float) -> bool:
    """Tell whether a figure keeps a limit by both clocks; one that could not be measured does not."""
    values = [figure.get(clock) for clock in CLOCKS]
    return all(value is not None and value <= limit for value in values)


def peak_is_kept(variant: str, figures: Figures) -> bool:
    """Tell whether the peak memory of a variant keeps its limit, if it has one."""
    if variant not in PEAK:
        return True
    factor, more = PEAK[variant]
    return bool(figures["variants"][variant]["peak"] <= factor * figures[BARE]["peak"] + more)


def medians(quantity: str, variant: str, programs: Mapping[str, Figures]) -> dict[str, float]:
    """Return the median of the programs by each clock."""
    measured = [one["variants"][variant][quantity] for one in programs.values() if variant in one["variants"]]
    values = {clock: [figure[clock] for figure in measured if figure[clock] is not None] for clock in CLOCKS}
    return {clock: median(found) for clock, found in values.items() if found}


def missed(programs: Mapping[str, Figures]) -> list[Miss]:
    """Return the limits that a run misses, in the order of the tables."""
    return [*_missed_by_each(programs), *_missed_by_medians(programs), *_missed_peaks(programs)]


def _missed_by_each(programs: Mapping[str, Figures]) -> list[Miss]:
    misses = []
    for quantity, of_variant in EACH.items():
        for variant, limit in of_variant.items():
            said = [_missed_by(name, one, quantity, variant, limit) for name, one in programs.items()]
            if names := [name for name in said if name]:
                misses.append(_miss(quantity, variant, f"≤ {limit:g} x", ", ".join(names), set(names) & {*programs}))
    return misses


def _missed_by(name: str, figures: Figures, quantity: str, variant: str, limit: float) -> str:
    """Return the name of a program that misses a limit, with a word if there is no figure; nothing if it keeps it."""
    if variant in figures["failed"]:
        return f"{name} (fails)"
    if variant not in figures["variants"] or is_kept(figure := figures["variants"][variant][quantity], limit):
        return ""
    return f"{name} (not measured)" if None in figure.values() else name


def _missed_by_medians(programs: Mapping[str, Figures]) -> list[Miss]:
    misses = []
    for quantity, of_variant in MEDIAN.items():
        for variant, limit in of_variant.items():
            figure = medians(quantity, variant, programs)
            if figure and not is_kept(figure, limit):
                misses.append(_miss(quantity, variant, f"median ≤ {limit:g} x", "the median of the programs", figure))
    return misses


def _missed_peaks(programs: Mapping[str, Figures]) -> list[Miss]:
    misses = []
    for variant in PEAK:
        measured = {name: one for name, one in programs.items() if variant in one["variants"]}
        names = [name for name, one in measured.items() if not peak_is_kept(variant, one)]
        if names:
            misses.append(Miss("peak memory", variant, peak_limit(variant), ", ".join(names), NO_REASON))
    return misses


def _miss(quantity: str, variant: str, limit: str, programs: str, measured: Collection[str]) -> Miss:
    reason = REASONS.get((quantity, variant), NO_REASON) if measured else NO_FIGURE
    return Miss(QUANTITIES[quantity], variant, limit, programs, reason)


def peak_limit(variant: str) -> str:
    """Return the limit of the peak memory in words, or nothing."""
    if variant not in PEAK:
        return ""
    factor, more = PEAK[variant]
    return f"≤ {factor:g} x + {more / 1e6:.0f} MB"
