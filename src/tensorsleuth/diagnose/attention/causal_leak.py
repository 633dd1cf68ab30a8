"""The causality of a model that reads tokens: does it look ahead, and by how much its labels are shifted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tensorsleuth.analyze.attention.thresholds import MOST_AHEAD
from tensorsleuth.analyze.attention.weight_shape import queries_ahead
from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Function
from tensorsleuth.core.dtypes import is_float
from tensorsleuth.data.tokens.setting import Setting
from tensorsleuth.data.tokens.shift import Agreement
from tensorsleuth.diagnose.attention.attention_graph import Attending, attention_of
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.inputs.input_parts import Cut
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.token_samples import Sequences
from tensorsleuth.trace.dataflow.value_flow import Flow
from tensorsleuth.trace.series.attention import Attention
from tensorsleuth.trace.series.layer_stats import Inside

IGNORED = Setting().ignore
CAUSAL = 1e-3  # weight on later keys, at most
MOVES = frozenset(["Roll", "Reverse", "ReverseV2"])
JOINS = frozenset(["Pad", "PadV2", "MirrorPad", "ConcatV2", "TensorScatterUpdate"])


def is_causal(given: Given, inside: Inside, one: Sequences) -> bool:
    """Does all attention of the function look back only, and does nothing move the ids on the way."""
    ahead = weight_ahead(given, inside, one)
    return (
        bool(ahead)
        and max(float(part.max()) for _, part in ahead) <= CAUSAL
        and not is_moved(one, given.training.moments.flow)
    )


def weight_ahead(
    given: Given, inside: Inside, one: Sequences, only: Callable[[Attending], bool] = lambda each: True
) -> list[tuple[Spot, Array]]:
    """On keys after the query, a number a head, of each look at each attention of the function that reads the ids.

    Nothing where one of them is no attention of the tokens to each other.
    """
    widths, found = {ids.shape[1] for ids in one.at.values()}, []
    for softmax, attention in attention_over(given, inside, one, only):
        if attention.rows != attention.columns or attention.columns not in widths:
            return []
        looks = [look for look, step in enumerate(attention.steps) if int(step) in one.at]
        seen = (attention.statistics(look).get("ahead") for look in looks)
        found += [(softmax, np.nan_to_num(part, nan=1.0)) for part in seen if part is not None and len(part)]
    return found


def attention_over(
    given: Given, inside: Inside, one: Sequences, only: Callable[[Attending], bool]
) -> Iterator[tuple[Spot, Attention]]:
    """The attention of the function that reads the ids."""
    training, by_op = given.training, {each.op: each for each in inside.attention}
    for each in attention_of(training):
        node = each.softmax.described
        same = training.root_of(each.softmax) == training.root_of(one.lookup.spot)
        if same and node is not None and node.name in by_op and only(each):
            yield each.softmax, by_op[node.name]


def all_look_ahead(attention: Attention, one: Sequences) -> bool:
    """Do nearly all queries that have later tokens look at some: not only those of a prefix that is read whole."""
    for look, step in enumerate(attention.steps):
        kept, ids = attention.kept(look), one.at.get(int(step))
        if kept is None or kept.scale != (1, 1) or ids is None or len(ids) < len(kept.weights):
            continue
        share = queries_ahead(kept.weights, ids != one.padding if one.padding is not None else np.ones(ids.shape, bool))
        if share is not None and share < MOST_AHEAD:
            return False
    return True


def moved_by(one: Sequences, labels: dict[int, Array], cut: Cut = ()) -> int | None:
    """Label t is the id at t + how many; None where they are something else, or several would do.

    `cut`: the positions that the loss is computed of.
    """
    agreement = Agreement()
    for step, ids in one.cut(cut).items():
        if step in labels and labels[step].shape == ids.shape:
            tokens = ids != one.padding if one.padding is not None else np.ones(ids.shape, bool)
            agreement.add(ids, labels[step], tokens, tokens & (labels[step] != IGNORED))
    return agreement.offset if not agreement.unclear else None


def is_moved(one: Sequences, flow: Flow) -> bool:
    """Are ids, or what was looked up, moved inside of the model."""
    function = one.lookup.spot.function
    around = _before(function, one.lookup.spot.node) | _after(function, flow, one.lookup.spot.node) if function else ()
    forward = [function.nodes[number] for number in around if function and function.nodes[number].forward is None]
    # Shapes are put together as well, of integers.
    joined = any(node.type in JOINS and any(map(is_float, node.dtypes)) for node in forward)
    return joined or any(node.type in MOVES for node in forward)


def _before(function: Function, start: int) -> set[int]:
    level, seen = [start], {start}
    while level:
        sources = {source for number in level for source, _ in function.nodes[number].inputs if source >= 0}
        level = list(sources - seen)
        seen |= sources
    return seen


def _after(function: Function, flow: Flow, start: int) -> set[int]:
    """Yield the consumers, without gradients, which are not recorded."""
    level, seen = [start], {start}
    while level:
        users = {user for number in level for user in flow.users(function, number)}
        level = [user for user in users - seen if function.nodes[user].forward is None]
        seen |= users
    return seen
