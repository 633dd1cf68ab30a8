"""A model that learns the next token, and sees it: no causal mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tensorsleuth.diagnose.attention.attention_graph import AttentionOps
from tensorsleuth.diagnose.attention.causal_leak import (
    all_look_ahead,
    attention_to_ids,
    label_shift,
    shifts_ids,
    weight_ahead,
)
from tensorsleuth.diagnose.attention.key_inputs import KeyInputs
from tensorsleuth.diagnose.attention.masks.multiplied_masks import MultipliedMasks
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import FEWEST_SAMPLES, TokenSequences
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import AttentionSeries
from tensorsleuth.trace.series.layer_stats import LayerStatistics

MIN_WEIGHT_AHEAD = 0.05  # of the weight, on tokens after the query


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.cached(LayerStatistics)
    if not inside.inputs or not inside.attention:
        return
    given, texts = process.cached(ModelInputs), process.cached(KeyInputs)
    for labels, spot in given.labels:
        root = given.training.root_id(spot)
        cut = given.logit_slices(spot)
        mine = [one for one in texts.sequences if given.training.root_id(one.lookup.gather) == root]
        learned = [one for one in mine if label_shift(one, labels.values(), cut) == 1]
        learned = [one for one in learned if not shifts_ids(one, given.training.call_graphs.flow)]
        if len(learned) == 1:
            alone = len(mine) == 1  # of a text that is made of another, that other is read whole
            only = partial(_reads, texts, learned[0]) if not alone else _any_attention
            yield from _judge(given, inside, learned[0], only)


RULE = Rule(id="no-causal-mask", severity=Severity.WRONG, find=find)


def _any_attention(each: AttentionOps) -> bool:
    return True


def _reads(texts: KeyInputs, one: TokenSequences, each: AttentionOps) -> bool:
    return [text.series.name for text in texts.keys_of(each)] == [one.series.name]


def _judge(
    model_inputs: ModelInputs,
    layer_statistics: LayerStatistics,
    one: TokenSequences,
    only: Callable[[AttentionOps], bool],
) -> Iterator[RuleFinding]:
    shares: dict[OpNode, list[float]] = {}
    for softmax, part in weight_ahead(model_inputs, layer_statistics, one, only):
        shares.setdefault(softmax, []).append(float(part.max()))
    seen = dict(attention_to_ids(model_inputs, layer_statistics, one, only))
    ahead = [softmax for softmax, looks in shares.items() if _looks_ahead(looks, seen[softmax], one)]
    masks = model_inputs.training.process.cached(MultipliedMasks)  # there is a mask: how it is laid on is told
    ahead = [softmax for softmax in ahead if (mask := masks.of_softmax(softmax)) is None or not mask.is_fixed]
    if ahead:
        yield _finding(model_inputs, one, ahead, len(shares), [share for softmax in ahead for share in shares[softmax]])


def _looks_ahead(shares: list[float], attention_series: AttentionSeries, one: TokenSequences) -> bool:
    return len(shares) >= FEWEST_SAMPLES and min(shares) > MIN_WEIGHT_AHEAD and all_look_ahead(attention_series, one)


def _finding(
    model_inputs: ModelInputs, one: TokenSequences, ahead: list[OpNode], total: int, shares: list[float]
) -> RuleFinding:
    layer, others = model_inputs.training.layer(ahead[0]), total - len(ahead)
    beside = f" ({others} of {total} look back only)" if others else ""
    why = (
        f"computes attention{f' ({layer})' if layer else ''} without a causal mask{beside}: {100 * min(shares):.0f} % "
        f"of the weight or more is on tokens after the query, in all {len(shares)} samples, while the labels are "
        f"{one.name} one later. Each position sees what it has to predict: the loss falls, nothing is learned"
    )
    about = tuple(spot.graph_node.name for spot in ahead if spot.graph_node is not None)
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_MASK,
        frame=model_inputs.training.frame(ahead[0]),
        op="Softmax",
        step=0,
        about=about,
    )


_MASK = (
    "mask what comes after the query: use_causal_mask=True in MultiHeadAttention, is_decoder=True in the config of an "
    "encoder of Hugging Face, or by hand tf.where(past, scores, -1e9) with past = tf.linalg.band_part(tf.ones((n, n)), "
    "-1, 0) > 0"
)
