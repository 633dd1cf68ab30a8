"""Is a model trained to predict the next token: are its labels the ids that it is given, moved by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from tensorsleuth.diagnose.around import Spot
from tensorsleuth.diagnose.folding import folded
from tensorsleuth.diagnose.training import CROSS_ENTROPIES, Training
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.ring_reader import Array
from tensorsleuth.trace.watched import WatchedSeries

FEWEST_LOOKS, FEWEST_TOKENS, FEWEST_IDS = 4, 4, 3
MOVED = 0.99  # of the labels that count are the next id
SLICE, NEAR, TIME = "StridedSlice", 4, 1  # TIME: the axis of positions
LABELS = 1  # which input of a loss they are


@dataclass(frozen=True)
class NextTokens:
    """Under which names they go into the function that trains; how many, where that is known."""

    ids: str
    labels: str
    tokens: int | None


def next_tokens(training: Training, inside: Inside) -> NextTokens | None:
    """By the values of two inputs at every look, or by two slices of one input; None where neither is so."""
    for ids, labels in permutations(inside.inputs, 2):
        if _is_next(ids, labels):
            return NextTokens(ids.name.rpartition("/")[2], labels.name.rpartition("/")[2], ids.shape()[-1])
    name = next(_sliced(training), None)
    return NextTokens(f"{name}[:, :-1]", f"{name}[:, 1:]", None) if name is not None else None


def _is_next(ids: WatchedSeries, labels: WatchedSeries) -> bool:
    looks = min(len(ids), len(labels))
    return looks >= FEWEST_LOOKS and all(moved_by_one(ids.value(at), labels.value(at)) for at in range(looks))


def moved_by_one(ids: Array | None, labels: Array | None) -> bool:
    """Are labels the ids of the position after, but for those that are left out of the loss."""
    if ids is None or labels is None or ids.ndim != 2 or ids.shape != labels.shape or ids.shape[1] < FEWEST_TOKENS:
        return False
    following, wanted = ids[:, 1:], labels[:, :-1]
    counts = wanted >= 0  # -100 is left out
    right = float((following == wanted)[counts].mean()) if counts.any() else 0.0
    same = float((ids[:, :-1] == wanted)[counts].mean()) if counts.any() else 1.0
    return right >= MOVED > same and len(np.unique(wanted[counts])) >= FEWEST_IDS


def _sliced(training: Training) -> Iterator[str]:
    """Names of arguments of which all but the first are labels, and all but the last are something else."""
    given = {_argument(training, spot) for spot in training.forward((SLICE,)) if bounds(spot) == (0, -1)}
    for loss in training.forward(CROSS_ENTROPIES):
        for spot in _labels(training, loss):
            argument = _argument(training, spot)
            if argument is not None and argument in given and bounds(spot) == (1, None):
                yield argument[1]


def _labels(training: Training, loss: Spot) -> Iterator[Spot]:
    """The slices that the labels of a loss are made of."""
    level = training.around.inputs(loss)[LABELS]
    for _ in range(NEAR):
        yield from (one for one in level if one.type == SLICE)
        casts = [one for one in level if one.type in ("Cast", "OneHot")]
        level = [one for cast in casts for slot in training.around.inputs(cast)[:1] for one in slot]


def _argument(training: Training, spot: Spot) -> tuple[int, str] | None:
    """Which argument of the function that Python calls a slice is of: the function, and its name."""
    assert spot.instance is not None
    sources = training.moments.flow.slots(spot.instance, spot.node)[0]
    root = training.root(spot.instance)
    names = training.process.catalogue.functions[root.function].arguments
    at = next((source.argument for source in sources), -1)
    return (root.id, names[at]) if 0 <= at < len(names) else None


def bounds(spot: Spot) -> tuple[int, int | None] | None:
    """From where to where a slice goes along time: (0, -1) is all but the last, (1, None) all but the first."""
    node, function = spot.described, spot.function
    if node is None or function is None or len(node.inputs) < 3 or node.attrs.get("shrink_axis_mask"):
        return None
    begin, end = (folded(function, node.inputs[at][0]) for at in (1, 2))
    if begin is None or end is None or len(begin) <= TIME or len(end) <= TIME:
        return None
    masks = [int(str(node.attrs.get(name, 0))) >> TIME & 1 for name in ("begin_mask", "end_mask")]
    return 0 if masks[0] else begin[TIME], None if masks[1] else end[TIME]
