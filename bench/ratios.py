"""Rows that compare a watched workload with the bare one: medians over interleaved rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median, quantiles

from bench.rounds import Sample, Samples, interleave
from bench.row import Bench, Result

OTHER_METRICS = ("cpu", "trace")


def ratio(
    workload: str, steps: int, rounds: int, mode: str = "FULL_HEALTH", peers: tuple[str, ...] = ("tfdbg2",),
    sets: int = 1,
) -> Callable[[Bench], Result]:  # fmt: skip
    """Seconds of a round, against those of the bare round beside it.

    Two processes of the same program may differ by some percent for as long as they live, by where their memory
    happens to lie: where a limit is as small, `sets` of new processes share the rounds.
    """

    def measure(bench: Bench) -> Result:
        variants, samples = dict.fromkeys(("bare", "ours", *peers), mode), Samples()
        for i in range(sets):
            folder = replace(bench, folder=bench.folder / str(i))
            samples.add(interleave(folder, workload, steps, variants, bench.rounds(rounds // sets)))
        bare = samples.rounds["bare"]
        other = {m: _against(samples, m) for m in OTHER_METRICS if m in bare[0]}
        spread = {v: _quartiles(_per_round(s, bare, "wall")) for v, s in samples.rounds.items()}
        result = {"bare_s": median(s["wall"] for s in bare) / steps, "rounds": len(bare), "spread": spread}
        return result | _against(samples, "wall") | {"also": other, "failed": samples.failed}

    return measure


def watched(workload: str, steps: int, rounds: int, every: int) -> Callable[[Bench], Result]:
    """A recording that watches every so many steps, against one that does not."""
    return _now_and_then(workload, steps, rounds, every, {"ours": "FULL_HEALTH", "seldom": "seldom", "each": "watch"})


def inside(workload: str, steps: int, rounds: int, every: int) -> Callable[[Bench], Result]:
    """A recording that looks into the model every so many steps, against the bare program."""
    return _now_and_then(workload, steps, rounds, every, {"bare": "", "seldom": "outside", "each": "inside"})


def _now_and_then(
    workload: str, steps: int, rounds: int, every: int, variants: dict[str, str]
) -> Callable[[Bench], Result]:
    """What is done every so many steps, against the first of the variants.

    A round is too short for that many steps: of steps in which nothing is looked at and of those in which everything
    is, each measured by itself, the average.
    """

    def measure(bench: Bench) -> Result:
        samples = interleave(bench, workload, steps, variants, bench.rounds(rounds))
        plain = samples.rounds[next(iter(variants))]
        ratios = {v: median(_per_round(samples.rounds[v], plain, "wall")) for v in ("seldom", "each")}
        ours = ratios["seldom"] + (ratios["each"] - ratios["seldom"]) / every
        result = {"bare_s": median(s["wall"] for s in plain) / steps, "rounds": len(plain), "also": ratios}
        return result | {"ours": ours, "failed": samples.failed}

    return measure


def measured(workload: str, steps: int, rounds: int, sets: int) -> Callable[[Bench], Result]:
    """A recording that also says where the memory goes, against one that does not."""

    def measure(bench: Bench) -> Result:
        samples = Samples()
        for i in range(sets):
            folder = replace(bench, folder=bench.folder / str(i))
            variants = {"ours": "FULL_HEALTH", "unmeasured": "unmeasured"}
            samples.add(interleave(folder, workload, steps, variants, bench.rounds(rounds // sets)))
        plain, ours = samples.rounds["unmeasured"], samples.rounds["ours"]
        result = {"bare_s": median(s["wall"] for s in plain) / steps, "rounds": len(plain)}
        return result | {"ours": median(_per_round(ours, plain, "wall")), "failed": samples.failed}

    return measure


def peak(workload: str, steps: int, peers: tuple[str, ...] = ("tfdbg2",)) -> Callable[[Bench], Result]:
    """Peak resident memory against that of the bare process: new processes each time, for it can only rise."""

    def measure(bench: Bench) -> Result:
        variants, samples = dict.fromkeys(("bare", "ours", *peers), "FULL_HEALTH"), Samples()
        for i in range(bench.rounds(3)):
            once = interleave(replace(bench, folder=bench.folder / str(i)), workload, steps, variants, rounds=1)
            samples.add(once)
        result = {"bare_mb": median(s["peak"] for s in samples.rounds["bare"]) / 1e6}
        return result | _against(samples, "peak") | {"failed": samples.failed}

    return measure


def _against(samples: Samples, metric: str) -> dict[str, float]:
    bare = samples.rounds["bare"]
    return {variant: median(_per_round(s, bare, metric)) for variant, s in samples.rounds.items()}


def _per_round(samples: list[Sample], bare: list[Sample], metric: str) -> list[float]:
    return [sample[metric] / beside[metric] for sample, beside in zip(samples, bare, strict=True)]


def _quartiles(ratios: list[float]) -> list[float]:
    return quantiles(ratios, n=4)[::2] if len(ratios) > 1 else ratios * 2
