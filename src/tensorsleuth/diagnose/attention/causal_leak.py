"""The causality of a model that reads tokens: whether it looks ahead, and by how much its labels are shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tensorsleuth.analyze.attention.thresholds import MAX_PREFIX_SHARE
from tensorsleuth.analyze.attention.weight_statistics import queries_ahead
from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Function
from tensorsleuth.core.dtypes import is_float
from tensorsleuth.core.ops.views import SHIFTING_JOINS, SHIFTS
from tensorsleuth.data.tokens.settings import TokenSettings
from tensorsleuth.data.tokens.shift import ShiftAgreement
from tensorsleuth.diagnose.attention.attention_graph import AttentionOps, find_attention
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.inputs.input_parts import Slices
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences
from tensorsleuth.trace.dataflow.value_flow import ValueFlow
from tensorsleuth.trace.series.attention import AttentionSeries
from tensorsleuth.trace.series.layer_stats import LayerStatistics

IGNORED_LABEL = TokenSettings().ignore
MAX_WEIGHT_AHEAD = 1e-3  # weight on later keys, at most


def is_causal(model_inputs: ModelInputs, layer_statistics: LayerStatistics, one: TokenSequences) -> bool:
    """Return whether all attention of the function looks back only, and nothing shifts the ids on the way."""
    ahead = weight_ahead(model_inputs, layer_statistics, one)
    return (
        bool(ahead)
        and max(float(part.max()) for _, part in ahead) <= MAX_WEIGHT_AHEAD
        and not shifts_ids(one, model_inputs.training.call_graphs.flow)
    )


def weight_ahead(
    model_inputs: ModelInputs,
    layer_statistics: LayerStatistics,
    one: TokenSequences,
    only: Callable[[AttentionOps], bool] = lambda each: True,
) -> list[tuple[OpNode, Array]]:
    """Return the weight on keys after the query, a number a head, for each sample of each attention that reads the ids.

    Empty if one of them is not self-attention over the tokens.
    """
    widths, found = {ids.shape[1] for ids in one.ids_by_step.values()}, []
    for softmax, attention in attention_to_ids(model_inputs, layer_statistics, one, only):
        if attention.rows != attention.columns or attention.columns not in widths:
            return []
        looks = [look for look, step in enumerate(attention.steps) if int(step) in one.ids_by_step]
        seen = (attention.statistics(look).get("ahead") for look in looks)
        found += [(softmax, np.nan_to_num(part, nan=1.0)) for part in seen if part is not None and len(part)]
    return found


def attention_to_ids(
    model_inputs: ModelInputs,
    layer_statistics: LayerStatistics,
    one: TokenSequences,
    only: Callable[[AttentionOps], bool],
) -> Iterator[tuple[OpNode, AttentionSeries]]:
    """The attention of the function that reads the ids."""
    training, by_op = model_inputs.training, {each.op: each for each in layer_statistics.attention}
    for each in find_attention(training):
        node = each.softmax.graph_node
        same = training.root_id(each.softmax) == training.root_id(one.lookup.gather)
        if same and node is not None and node.name in by_op and only(each):
            yield each.softmax, by_op[node.name]


def all_look_ahead(attention_series: AttentionSeries, one: TokenSequences) -> bool:
    """Return whether nearly all queries look at later tokens, not only those of a prefix that is read whole."""
    for look, step in enumerate(attention_series.steps):
        kept, ids = attention_series.kept(look), one.ids_by_step.get(int(step))
        if kept is None or kept.scale != (1, 1) or ids is None or len(ids) < len(kept.weights):
            continue
        padding = one.likely_padding_id  # the last token of a row has only hidden padding after it
        share = queries_ahead(kept.weights, ids != padding if padding is not None else np.ones(ids.shape, bool))
        if share is not None and share < MAX_PREFIX_SHARE:
            return False
    return True


def label_shift(one: TokenSequences, labels: dict[int, Array], slices: Slices = ()) -> int | None:
    """Return n if label t is the id at t + n; None if the labels are something else, or several n fit.

    `slices`: the positions that the loss reads.
    """
    shift_agreement = ShiftAgreement()
    for step, ids in one.sliced(slices).items():
        if step in labels and labels[step].shape == ids.shape:
            tokens = ids != one.padding_id if one.padding_id is not None else np.ones(ids.shape, bool)
            shift_agreement.add(ids, labels[step], tokens, tokens & (labels[step] != IGNORED_LABEL))
    return shift_agreement.offset if not shift_agreement.is_ambiguous else None


def shifts_ids(one: TokenSequences, value_flow: ValueFlow) -> bool:
    """Return whether the model itself shifts the ids or their embeddings."""
    function = one.lookup.gather.function
    around = (
        _before(function, one.lookup.gather.node_index) | _after(function, value_flow, one.lookup.gather.node_index)
        if function
        else ()
    )
    forward = [function.nodes[number] for number in around if function and function.nodes[number].forward is None]
    # Shapes are put together as well, of integers.
    joined = any(node.type in SHIFTING_JOINS and any(map(is_float, node.dtypes)) for node in forward)
    return joined or any(node.type in SHIFTS for node in forward)


def _before(function: Function, start: int) -> set[int]:
    level, seen = [start], {start}
    while level:
        sources = {source for number in level for source, _ in function.nodes[number].inputs if source >= 0}
        level = list(sources - seen)
        seen |= sources
    return seen


def _after(function: Function, value_flow: ValueFlow, start: int) -> set[int]:
    """Return the consumers, without gradients, which are not recorded."""
    level, seen = [start], {start}
    while level:
        users = {user for number in level for user in value_flow.consumers(function, number)}
        level = [user for user in users - seen if function.nodes[user].forward is None]
        seen |= users
    return seen
