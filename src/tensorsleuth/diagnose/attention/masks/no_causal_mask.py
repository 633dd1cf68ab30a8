"""A model that learns the next token, and sees it: no causal mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tensorsleuth.diagnose.attention.attention_graph import Attending
from tensorsleuth.diagnose.attention.causal_leak import all_look_ahead, attention_over, is_moved, moved_by, weight_ahead
from tensorsleuth.diagnose.attention.key_inputs import KeyTexts
from tensorsleuth.diagnose.attention.masks.multiplied_masks import MultipliedMasks
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.token_samples import FEWEST_LOOKS, Sequences
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import Attention
from tensorsleuth.trace.series.layer_stats import Inside

LEAST = 0.05  # of the weight, on tokens after the query


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
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


RULE = Rule(id="no-causal-mask", severity=Severity.WRONG, find=find)


def _all(each: Attending) -> bool:
    return True


def _reads(texts: KeyTexts, one: Sequences, each: Attending) -> bool:
    return [text.series.name for text in texts.of(each)] == [one.series.name]


def _judged(given: Given, inside: Inside, one: Sequences, only: Callable[[Attending], bool]) -> Iterator[RuleFinding]:
    shares: dict[Spot, list[float]] = {}
    for softmax, part in weight_ahead(given, inside, one, only):
        shares.setdefault(softmax, []).append(float(part.max()))
    seen = dict(attention_over(given, inside, one, only))
    ahead = [softmax for softmax, looks in shares.items() if _looks_ahead(looks, seen[softmax], one)]
    masks = given.training.process.once(MultipliedMasks)  # there is a mask: how it is laid on is told
    ahead = [softmax for softmax in ahead if (mask := masks.of(softmax)) is None or not mask.is_fixed]
    if ahead:
        yield _finding(given, one, ahead, len(shares), [share for softmax in ahead for share in shares[softmax]])


def _looks_ahead(shares: list[float], attention: Attention, one: Sequences) -> bool:
    return len(shares) >= FEWEST_LOOKS and min(shares) > LEAST and all_look_ahead(attention, one)


def _finding(given: Given, one: Sequences, ahead: list[Spot], total: int, shares: list[float]) -> RuleFinding:
    layer, others = given.training.layer(ahead[0]), total - len(ahead)
    beside = f" ({others} of {total} look back only)" if others else ""
    why = (
        f"computes attention{f' ({layer})' if layer else ''} without a causal mask{beside}: {100 * min(shares):.0f} % "
        f"of the weight or more is on tokens after the query, in all {len(shares)} samples, while the labels are "
        f"{one.name} one later. Each position sees what it has to predict: the loss falls, nothing is learned"
    )
    about = tuple(spot.described.name for spot in ahead if spot.described is not None)
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_MASK,
        frame=given.training.frame(ahead[0]),
        op="Softmax",
        step=0,
        about=about,
    )


_MASK = (
    "mask what comes after the query: use_causal_mask=True in MultiHeadAttention, is_decoder=True in the config of an "
    "encoder of Hugging Face, or by hand tf.where(past, scores, -1e9) with past = tf.linalg.band_part(tf.ones((n, n)), "
    "-1, 0) > 0"
)
