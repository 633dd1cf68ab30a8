"""Arrays that the program shuffles apart before it feeds them as pairs, while the loss stays where it was."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import losses_of
from tensorsleuth.diagnose.training.pairs.array_order import Apart, reordered_apart
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 100
MIN_LEFT = 0.9  # of the median loss of the second quarter, in the last: with less, something is learned


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    found = [(file, one) for file, text in process.catalogue.sources.items() for one in reordered_apart(text)]
    losses = list(losses_of(process.cached(TrainingGraph)).values()) if len(found) == 1 else []
    if len(losses) == 1 and _stays(losses[0]):
        yield _finding(*found[0], losses[0])


RULE = Rule(
    id="arrays-shuffled",
    severity=Severity.WRONG,
    find=find,
    supersedes=("step-length", "chance-loss", "predictions-collapsed", "overfitting", "flat-loss"),
)


def _quarters(losses: Array) -> list[float]:
    return [float(np.median(part)) for part in np.array_split(losses.astype(np.float64), 4)]


def _stays(losses: Array) -> bool:
    """Return whether a loss that was positive fell no further after the first quarter of the steps."""
    enough = len(losses) >= FEWEST_STEPS and bool(np.isfinite(losses).all()) and bool((losses > 0).all())
    return enough and _quarters(losses)[-1] >= MIN_LEFT * _quarters(losses)[1]


def _finding(file: str, apart: Apart, losses: Array) -> RuleFinding:
    quarters, fed = _quarters(losses), Frame(file, apart.fed, apart.function)
    what = " and ".join(f"`{one}`" for one in apart.reordered)
    lines = " and ".join(map(str, apart.lines))
    how = "each by itself" if len(apart.lines) > 1 else "alone"
    why = (
        f"shuffles {what} {how} (line{'s' if len(apart.lines) > 1 else ''} {lines}), and line {apart.fed} feeds "
        f"`{apart.names[0]}` and `{apart.names[1]}` as pairs: inputs lose their labels. In {len(losses):,} steps the "
        f"loss did not fall after the first quarter ({quarters[1]:.4g}, at the end {quarters[-1]:.4g})"
    )
    said = " → ".join(f"{one:.4g}" for one in quarters)
    return RuleFinding(
        confidence=0.85,
        why=why,
        fix=_TOGETHER,
        frame=Frame(file, apart.lines[0], apart.function),
        op="shuffle",
        step=0,
        evidence=(
            text_evidence("also", "pairs", "are fed here", fed),
            text_evidence("also", "loss", f"by quarter of the steps: {said}"),
        ),
    )


_TOGETHER = "shuffle both alike: order = np.random.permutation(len(x)); x, y = x[order], y[order]"
