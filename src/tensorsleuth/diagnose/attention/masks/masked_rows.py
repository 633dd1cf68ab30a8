"""Queries whose mask hides every key: with a large negative number they attend to all keys equally, hidden ones too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.masks import MASK_ADDING_OPS
from tensorsleuth.diagnose.attention.attention_graph import attention_line, find_in_graph, sample_indexes
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import SHADES, AttentionSeries
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FEWEST_SAMPLES, FEWEST_KEYS = 4, 4
MAX_UNEVENNESS = 1.5 / SHADES  # by which a weight may be off an even share: that is how exactly it is kept
MOST_SHOWN = 4


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    found = ((one, _masked(one)) for one in process.cached(LayerStatistics).attention)
    yield from merge_same_line(_finding(process.cached(TrainingGraph), one, rows) for one, rows in found if len(rows))


RULE = Rule(id="masked-rows", severity=Severity.WRONG, find=find)


def _masked(one: AttentionSeries) -> Array:
    """Return the queries, other than padding, that attend equally to all keys in every sample, head and step."""
    looks = [one.weights(look) for look in sample_indexes(one) if one.scale(look) == (1, 1)]
    kept = [weights for weights in looks if weights is not None and weights.shape[-1] == weights.shape[-2]]
    if len(kept) < FEWEST_SAMPLES or any(one.shape[1:] != kept[0].shape[1:] for one in kept):
        return np.zeros(0, np.int64)
    return np.flatnonzero(_covered(np.concatenate(kept)))


def _covered(weights: Array) -> Array:
    """Return the uniform rows of [samples, heads, rows, columns], in a mask that hides keys from other rows."""
    keys = weights.shape[-1]
    even = (np.abs(weights - 1 / keys) <= MAX_UNEVENNESS).all(axis=(0, 1, 3))
    others = weights[:, :, ~even]
    hides = others.size > 0 and keys >= FEWEST_KEYS and bool((others == 0).any(axis=3).all())
    seen_by_others = (others > 0).any(axis=(1, 2)).all(axis=0) if hides else np.zeros(keys, bool)
    covered: Array = even & seen_by_others  # what others never look at is padding, and its own row does not matter
    return covered


def _finding(training_graph: TrainingGraph, one: AttentionSeries, rows: Array) -> RuleFinding:
    first = ", ".join(str(int(row)) for row in rows[:MOST_SHOWN])
    which = f"query {first}" if len(rows) == 1 else f"{len(rows)} queries ({first}{', …' * (len(rows) > MOST_SHOWN)})"
    why = (
        f"masks every key of {which} of {one.rows} in `{one.name}`: where all scores are as low as each other, softmax "
        f"gives all {one.columns} keys the same weight ({1 / one.columns:.3g}), those that the mask should hide among "
        f"them, in every recorded sample and head; other queries attend to that position, so it is not padding"
    )
    said = f"weight {1 / one.columns:.3g} on each key"
    evidence = tuple(text_evidence("also", f"query {int(row)}", said) for row in rows[:MOST_SHOWN])
    frame = _mask_line(training_graph, one) or attention_line(training_graph, one)
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=_ITSELF,
        frame=frame,
        op="Softmax",
        step=int(one.steps[0]),
        evidence=evidence,
        about=(one.op or "",),
    )


def _mask_line(training_graph: TrainingGraph, seen: AttentionSeries) -> Frame | None:
    """Return the line where the mask meets the scores."""
    one = find_in_graph(training_graph, seen)
    slots = training_graph.neighbours.input_ops(one.softmax) if one is not None else []
    masks = (source for slot in slots for source in slot if _is_mask(source))
    return next((training_graph.frame(mask) for mask in masks), None)


def _is_mask(op_node: OpNode) -> bool:
    return op_node.type in MASK_ADDING_OPS - {"Cast", "Identity"}


_ITSELF = (
    "let each position see itself (query >= key in a causal mask, tf.linalg.band_part(ones, -1, 0)); where a row has "
    "to be empty, multiply the weights by the mask after the softmax, so that it is zero"
)
