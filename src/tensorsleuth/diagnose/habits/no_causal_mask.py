"""A model that is to predict the next token, and sees it: labels are the ids moved by one, attention looks ahead."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.diagnose.attending import line_of, some_looks
from tensorsleuth.diagnose.habit import Habit, piece
from tensorsleuth.diagnose.next_tokens import NextTokens, next_tokens
from tensorsleuth.diagnose.training import Training
from tensorsleuth.trace.attention import Attention
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace

FEWEST_LOOKS = 4
MOST_SHOWN = 4
LEAST_AHEAD = 0.05  # of a query's weight, in every head at every look


def find(process: ProcessTrace) -> Iterator[Habit]:
    inside = Inside(process)
    square = [one for one in inside.attention if one.rows == one.columns > 1]
    if not square or not all(_looks_ahead(one) for one in square):  # where one is causal, others may be an encoder's
        return
    training = Training(process)
    tokens = next_tokens(training, inside)
    own = [one for one in square if tokens is not None and tokens.tokens in (None, one.rows)]
    if tokens is not None and own:
        yield _habit(training, own, tokens)


def _looks_ahead(one: Attention) -> bool:
    ahead = [one.statistics(look).get("ahead", np.zeros(1)) for look in some_looks(one)]
    return len(ahead) >= FEWEST_LOOKS and all(bool((heads > LEAST_AHEAD).all()) for heads in ahead)


def _habit(training: Training, seen: list[Attention], tokens: NextTokens) -> Habit:
    first = seen[0]
    why = (
        f"attends to the tokens that it is to predict: `{tokens.labels}` are `{tokens.ids}` moved by one, so that each "
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
