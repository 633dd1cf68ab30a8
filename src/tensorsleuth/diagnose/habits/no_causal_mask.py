"""A model that is to predict the next token, and sees it: labels are the ids moved by one, attention looks ahead."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from tensorsleuth.diagnose.attending import line_of
from tensorsleuth.diagnose.habit import Habit, piece
from tensorsleuth.diagnose.training import Training
from tensorsleuth.trace.attention import Attention
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.ring_reader import Array
from tensorsleuth.trace.watched import WatchedSeries

FEWEST_LOOKS, FEWEST_TOKENS, FEWEST_IDS = 4, 4, 3
MOST_SHOWN = 4
LEAST_AHEAD = 0.05  # of a query's weight, in every head at every look
MOVED = 0.99  # of the labels that count are the next id


def find(process: ProcessTrace) -> Iterator[Habit]:
    inside = Inside(process)
    pair = next((two for two in permutations(inside.inputs, 2) if _is_next(*two)), None) if inside.attention else None
    if pair is None:
        return
    square = [one for one in inside.attention if one.rows == one.columns]
    own = [one for one in square if one.rows == pair[0].shape()[-1]]
    if own and all(_looks_ahead(one) for one in square):  # a causal one among them: the others may be an encoder's
        yield _habit(Training(process), own, *pair)


def _is_next(ids: WatchedSeries, labels: WatchedSeries) -> bool:
    """At every look: are the labels the ids of the position after."""
    looks = min(len(ids), len(labels))
    return looks >= FEWEST_LOOKS and all(_moved(ids.value(at), labels.value(at)) for at in range(looks))


def _moved(ids: Array | None, labels: Array | None) -> bool:
    if ids is None or labels is None or ids.ndim != 2 or ids.shape != labels.shape or ids.shape[1] < FEWEST_TOKENS:
        return False
    following, wanted = ids[:, 1:], labels[:, :-1]
    counts = wanted >= 0  # -100 is left out of the loss
    right = float((following == wanted)[counts].mean()) if counts.any() else 0.0
    same = float((ids[:, :-1] == wanted)[counts].mean()) if counts.any() else 1.0
    return right >= MOVED > same and len(np.unique(wanted[counts])) >= FEWEST_IDS


def _looks_ahead(one: Attention) -> bool:
    ahead = [one.statistics(look).get("ahead", np.zeros(1)) for look in range(len(one))]
    return len(ahead) >= FEWEST_LOOKS and all(bool((heads > LEAST_AHEAD).all()) for heads in ahead)


def _habit(training: Training, seen: list[Attention], ids: WatchedSeries, labels: WatchedSeries) -> Habit:
    first, named = seen[0], [one.name.rpartition("/")[2] for one in (ids, labels)]
    why = (
        f"attends to the tokens that it is to predict: `{named[1]}` are `{named[0]}` moved by one, so that each "
        f"position predicts the next, and {_ahead(first)} of the weight in `{first.name}` is on later positions: it "
        "copies the answer, the loss gets far too low, and nothing of it holds when it generates"
    )
    evidence = tuple(piece("also", one.name, f"{_ahead(one)} of the weight is ahead") for one in seen[:MOST_SHOWN])
    place = line_of(training, first), "Softmax", 0.0, False, int(first.steps[0]), evidence
    return Habit("no-causal-mask", 0.93, why, _CAUSAL, *place, is_wrong=True)


def _ahead(one: Attention) -> str:
    return f"{100 * float(np.mean(one.statistics(-1)['ahead'])):.0f} %"


_CAUSAL = (
    "use_causal_mask=True where MultiHeadAttention is called, or hide what is ahead before the softmax: "
    "tf.where(tf.linalg.band_part(tf.ones([n, n]), -1, 0) > 0, scores, -1e9)"
)
