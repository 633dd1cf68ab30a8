"""A model that learns the next token, and sees it: no causal mask."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.diagnose.ahead import is_moved, moved_by, weight_ahead
from tensorsleuth.diagnose.given import Given
from tensorsleuth.diagnose.habit import Habit
from tensorsleuth.diagnose.parts import Cut, Part
from tensorsleuth.diagnose.token_looks import FEWEST_LOOKS, Sequences, sequences_of
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace

LEAST = 0.05  # of the weight, on tokens after the query


def find(process: ProcessTrace) -> Iterator[Habit]:
    inside = process.once(Inside)
    if not inside.inputs or not inside.attention:
        return
    given = process.once(Given)
    every = sequences_of(given)
    for labels, spot in given.labels:
        root = given.training.root_of(spot)
        mine = [one for one in every if given.training.root_of(one.lookup.spot) == root]
        if len(mine) == 1:  # of a text that is made of another, that other is read whole
            yield from _judged(given, inside, mine[0], labels, given.cut_of_logits(spot))


def _judged(given: Given, inside: Inside, one: Sequences, labels: Part, cut: Cut) -> Iterator[Habit]:
    if is_moved(one) or moved_by(one, labels.values(), cut) != 1:
        return
    ahead = weight_ahead(given, inside, one)
    shares = [float(part.max()) for _, part in ahead]
    if len(shares) >= FEWEST_LOOKS and min(shares) > LEAST:
        softmax = ahead[0][0]
        layer = given.training.layer(softmax)
        why = (
            f"computes attention{f' ({layer})' if layer else ''} without a causal mask: {100 * min(shares):.0f} % of "
            f"the weight or more is on tokens after the query, at all {len(shares)} looks, while the labels are "
            f"{one.name} one later. Each position sees what it has to predict: the loss falls, nothing is learned"
        )
        place = given.training.frame(softmax), "Softmax", 0.0, False, 0, ()
        yield Habit("no-causal-mask", 0.92, why, _MASK, *place, is_wrong=True)


_MASK = (
    "mask what comes after the query: use_causal_mask=True in MultiHeadAttention, or by hand tf.where(past, scores, "
    "-1e9) with past = tf.linalg.band_part(tf.ones((n, n)), -1, 0) > 0"
)
