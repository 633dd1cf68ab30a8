"""A model that learns the next token, and sees it: no causal mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tensorsleuth.diagnose.ahead import all_look_ahead, attention_over, is_moved, moved_by, weight_ahead
from tensorsleuth.diagnose.attending import Attending
from tensorsleuth.diagnose.given import Given
from tensorsleuth.diagnose.habit import Habit
from tensorsleuth.diagnose.key_texts import KeyTexts
from tensorsleuth.diagnose.token_looks import FEWEST_LOOKS, Sequences
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace

LEAST = 0.05  # of the weight, on tokens after the query


def find(process: ProcessTrace) -> Iterator[Habit]:
    inside = process.once(Inside)
    if not inside.inputs or not inside.attention:
        return
    given, texts = process.once(Given), process.once(KeyTexts)
    for labels, spot in given.labels:
        root = given.training.root_of(spot)
        cut = given.cut_of_logits(spot)
        mine = [one for one in texts.texts if given.training.root_of(one.lookup.spot) == root]
        learned = [one for one in mine if moved_by(one, labels.values(), cut) == 1]
        learned = [one for one in learned if not is_moved(one, given.training.moments.flow)]
        if len(learned) == 1:
            alone = len(mine) == 1  # of a text that is made of another, that other is read whole
            only = partial(_reads, texts, learned[0]) if not alone else _all
            yield from _judged(given, inside, learned[0], only)


def _all(each: Attending) -> bool:
    return True


def _reads(texts: KeyTexts, one: Sequences, each: Attending) -> bool:
    return [text.series.name for text in texts.of(each)] == [one.series.name]


def _judged(given: Given, inside: Inside, one: Sequences, only: Callable[[Attending], bool]) -> Iterator[Habit]:
    ahead = weight_ahead(given, inside, one, only)
    shares = [float(part.max()) for _, part in ahead]
    over = attention_over(given, inside, one, only)
    if len(shares) >= FEWEST_LOOKS and min(shares) > LEAST and all(all_look_ahead(each, one) for _, each in over):
        softmax = ahead[0][0]
        layer = given.training.layer(softmax)
        why = (
            f"computes attention{f' ({layer})' if layer else ''} without a causal mask: {100 * min(shares):.0f} % of "
            f"the weight or more is on tokens after the query, at all {len(shares)} looks, while the labels are "
            f"{one.name} one later. Each position sees what it has to predict: the loss falls, nothing is learned"
        )
        place = given.training.frame(softmax), "Softmax", 0.0, False, 0, ()
        names = [spot.described.name for spot, _ in ahead if spot.described is not None]
        about = tuple(dict.fromkeys(names))
        yield Habit("no-causal-mask", 0.92, why, _MASK, *place, is_wrong=True, about=about)


_MASK = (
    "mask what comes after the query: use_causal_mask=True in MultiHeadAttention, or by hand tf.where(past, scores, "
    "-1e9) with past = tf.linalg.band_part(tf.ones((n, n)), -1, 0) > 0"
)
