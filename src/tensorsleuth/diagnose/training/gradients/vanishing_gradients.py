"""Gradients that shrink from the last layer to the first until nothing is left of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.variables import VariableIndex
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

FEWEST_LAYERS, FEWEST_SAMPLES = 4, 4
MAX_RELATIVE_GRADIENT = 1e-5  # of the gradient of the last weights, a number of each compared
MAX_GRADIENT = 1e-6  # of a number, by itself: what even optimizers that divide by the size of gradients hardly move by
EMBEDDING_NAME = "embedding"  # most of its rows are asked for by no sample
MOST_RISES = 0.25  # of the steps from layer to layer may go the other way


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.cached(LayerStatistics)
    kernels = {one.name for one in inside.variables if len(one.shape()) >= 2 and EMBEDDING_NAME not in one.name.lower()}
    matrices = [one for one in inside.gradients if len(one) >= FEWEST_SAMPLES and one.name in kernels]
    looks = min((len(one) for one in matrices), default=0)
    if len(matrices) < FEWEST_LAYERS:
        return
    sizes = np.array([_size(one)[:looks] for one in matrices])
    if _vanishes(sizes):
        yield _finding(process, matrices, sizes)


RULE = Rule(id="vanishing-gradients", severity=Severity.WRONG, find=find, supersedes=("predictions-collapsed",))


def _size(one: WatchedSeries) -> Array:
    """Return the root mean square of a gradient: large matrices count no more than small ones."""
    size: Array = one.norm / np.sqrt(np.maximum(one.rows["elements"], 1))
    return size


def _vanishes(sizes: Array) -> bool:
    """Return whether every sample has almost no gradient at the first weights, and less from layer to layer."""
    if not np.isfinite(sizes).all() or (sizes <= 0).any():
        return False
    small = (sizes[0] < MAX_RELATIVE_GRADIENT * sizes[-1]) & (sizes[0] < MAX_GRADIENT)
    rises = (np.diff(sizes, axis=0) < 0).mean(axis=0)
    return bool((small & (rises <= MOST_RISES)).all())


def _finding(process: ProcessTrace, matrices: list[WatchedSeries], sizes: Array) -> RuleFinding:
    first, last, typical = matrices[0], matrices[-1], np.median(sizes, axis=1)
    each = float((typical[0] / typical[-1]) ** (1 / (len(matrices) - 1)))
    why = (
        f"makes weights whose gradients vanish: {typical[-1]:.2g} a weight in `{last.name}`, {typical[0]:.2g} in "
        f"`{first.name}`, {len(matrices)} layers before, about {each:.2g} times from each to the one before it, at all "
        f"{sizes.shape[1]} samples up to step {int(first.steps[-1])}: the first layers do not learn"
    )
    shown = [0, len(matrices) // 2, len(matrices) - 1]
    evidence = tuple(text_evidence("also", matrices[at].name, f"gradient {typical[at]:.2g} a weight") for at in shown)
    return RuleFinding(
        confidence=0.88,
        why=why,
        fix=_PATHS,
        frame=_frame(process, first.name),
        op="gradient",
        step=int(first.steps[0]),
        evidence=evidence,
    )


def _frame(process: ProcessTrace, name: str) -> Frame | None:
    """Return the line that made a variable."""
    variable_index = VariableIndex(CallGraphs(process))
    handles = (handle for handle, known in variable_index.names.items() if known == name)
    return next((frame for handle in handles if (frame := variable_index.creation_line(handle)) is not None), None)


_PATHS = (
    "gelu or relu in the place of sigmoid and tanh, he_normal for the first weights, a normalisation in each layer, "
    "and residual connections (x + layer(x)) around them"
)
