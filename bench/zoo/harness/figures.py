"""The figures of a program: medians over its rounds, each round compared with the bare run beside it."""

from __future__ import annotations

from statistics import median
from typing import Any

from bench.zoo.harness.samples import Sample, Samples
from bench.zoo.harness.variants import AGAIN, BARE

CLOCKS = ("wall", "cpu")
STEP, WHOLE, LONG = "step", "whole", "long"
LONG_SECONDS = 20.0
"""The length of the long program, whose time is computed: no program of the zoo is that long."""

Figures = dict[str, Any]
"""The figures of one program, as they stand in bench/zoo.json."""


def figures(samples: Samples) -> Figures:
    """Return what is kept of the rounds of a program."""
    bare = samples.rounds.get(BARE, {})
    result: Figures = {"rounds": len(bare), "failed": samples.failed, "variants": {}}
    if not bare:
        return result
    result["steps"] = next(iter(bare.values())).steps
    result[BARE] = _absolute([*bare.values()])
    for variant, rounds in samples.rounds.items():
        if variant != BARE:
            result["variants"][variant] = _compared(rounds, bare)
    if AGAIN in samples.rounds:
        result["spread"] = _spread(samples.rounds[AGAIN], bare)
    return result


def _absolute(rounds: list[Sample]) -> dict[str, Any]:
    return {
        STEP: {clock: median(sample.step(clock) for sample in rounds) for clock in CLOCKS},
        WHOLE: {clock: median(sample.whole(clock) for sample in rounds) for clock in CLOCKS},
        "peak": median(sample.long.peak for sample in rounds),
    }


def _compared(rounds: dict[int, Sample], bare: dict[int, Sample]) -> dict[str, Any]:
    compared: dict[str, Any] = {
        quantity: {clock: _median(quantity, clock, rounds, bare) for clock in CLOCKS}
        for quantity in (STEP, WHOLE, LONG)
    }
    compared["peak"] = median(sample.long.peak for sample in rounds.values())
    compared["disk"] = median(sample.disk for sample in rounds.values())
    compared["verdicts"] = sorted({sample.verdict for sample in rounds.values()} - {""})
    return compared


def _median(quantity: str, clock: str, rounds: dict[int, Sample], bare: dict[int, Sample]) -> float | None:
    found = _ratios(quantity, clock, rounds, bare)
    return median(found) if found else None


def _spread(again: dict[int, Sample], bare: dict[int, Sample]) -> dict[str, dict[str, list[float]]]:
    """Return the least and the largest ratio of bare to bare, for each quantity and clock."""
    spread: dict[str, dict[str, list[float]]] = {}
    for quantity in (STEP, WHOLE, LONG):
        found = {clock: _ratios(quantity, clock, again, bare) for clock in CLOCKS}
        spread[quantity] = {clock: [min(ratios), max(ratios)] for clock, ratios in found.items() if ratios}
    return spread


def _ratios(quantity: str, clock: str, rounds: dict[int, Sample], bare: dict[int, Sample]) -> list[float]:
    """Compare round by round. Steps that seem to take no time, on a disturbed machine, do not count."""
    pairs = [(sample, bare[number]) for number, sample in rounds.items() if number in bare]
    return [ratio(quantity, clock, *pair) for pair in pairs if quantity == WHOLE or all(map(_is_plausible, pair))]


def _is_plausible(sample: Sample) -> bool:
    return all(sample.step(clock) > 0 for clock in CLOCKS)


def ratio(quantity: str, clock: str, sample: Sample, bare: Sample) -> float:
    """Compare a sample with the bare one of its round."""
    if quantity == STEP:
        return sample.step(clock) / bare.step(clock)
    if quantity == WHOLE:
        return sample.whole(clock) / bare.whole(clock)
    steps = max(0.0, LONG_SECONDS - bare.whole("wall")) / bare.step("wall")
    return _with_more(sample, clock, steps) / _with_more(bare, clock, steps)


def _with_more(sample: Sample, clock: str, steps: float) -> float:
    """Return the seconds of a program with some steps more than N."""
    return sample.whole(clock) + steps * sample.step(clock)
