"""Whether a model that reads tokens looks ahead, and by how much its labels are moved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.diagnose.around import Spot
from tensorsleuth.diagnose.attending import attention_of
from tensorsleuth.diagnose.given import Given
from tensorsleuth.diagnose.parts import Cut
from tensorsleuth.diagnose.token_looks import Sequences
from tensorsleuth.model.dtypes import is_float
from tensorsleuth.tokens.setting import Setting
from tensorsleuth.tokens.shift import Agreement
from tensorsleuth.trace.attention import Attention
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.ring_reader import Array

IGNORED = Setting().ignore
CAUSAL = 1e-3  # weight on later keys, at most
MOVES = frozenset(["Roll", "Reverse", "ReverseV2"])
JOINS = frozenset(["Pad", "PadV2", "MirrorPad", "ConcatV2", "TensorScatterUpdate"])


def is_causal(given: Given, inside: Inside, one: Sequences) -> bool:
    """Does all attention of the function look back only, and does nothing move the ids on the way."""
    ahead = weight_ahead(given, inside, one)
    return bool(ahead) and max(float(part.max()) for _, part in ahead) <= CAUSAL and not is_moved(one)


def weight_ahead(given: Given, inside: Inside, one: Sequences) -> list[tuple[Spot, Array]]:
    """On keys after the query, a number a head, of each look at each attention of the function that reads the ids.

    Nothing where one of them is no attention of the tokens to each other.
    """
    widths, found = {ids.shape[1] for ids in one.at.values()}, []
    for softmax, attention in _attention(given, inside, one):
        if attention.rows != attention.columns or attention.columns not in widths:
            return []
        looks = [look for look, step in enumerate(attention.steps) if int(step) in one.at]
        seen = (attention.statistics(look).get("ahead") for look in looks)
        found += [(softmax, np.nan_to_num(part, nan=1.0)) for part in seen if part is not None and len(part)]
    return found


def _attention(given: Given, inside: Inside, one: Sequences) -> Iterator[tuple[Spot, Attention]]:
    training, by_op = given.training, {each.op: each for each in inside.attention}
    for each in attention_of(training):
        node = each.softmax.described
        same = training.root_of(each.softmax) == training.root_of(one.lookup.spot)
        if same and node is not None and node.name in by_op:
            yield each.softmax, by_op[node.name]


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


def is_moved(one: Sequences) -> bool:
    """Are ids, or what was looked up, moved inside of the model."""
    nodes = one.lookup.spot.function.nodes if one.lookup.spot.function is not None else ()
    forward = [node for node in nodes if node.forward is None]
    # Shapes are put together as well, of whole numbers.
    joined = any(node.type in JOINS and any(map(is_float, node.dtypes)) for node in forward)
    return joined or any(node.type in MOVES for node in forward)
