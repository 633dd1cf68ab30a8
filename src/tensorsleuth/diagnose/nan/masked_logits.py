"""Logits of −∞ that the program wrote: the op that put them there, and the losses that they make infinite."""

from __future__ import annotations

from collections.abc import Callable

from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES, LABEL_PICKS, LOG_PROBABILITY_OPS
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

MAX_HOPS = 12  # from a loss to the op that masked its logits


def infinite_loss_logits(graphs: CallGraphs, loss: ObservedTensor) -> ObservedTensor | None:
    """Return the logits with −∞ of a loss that is +∞; None if it is no loss, or if its logits hold other bad values."""
    if loss.has_nan or not loss.count("pos_inf"):
        return None
    if loss.op in CROSS_ENTROPIES:
        return _only_masked(_bad_input(graphs, loss))
    return _picked_logits(graphs, loss) if loss.op == "Neg" else None


def mask_of(
    graphs: CallGraphs, logits: ObservedTensor, is_literal: Callable[[ObservedTensor], bool]
) -> ObservedTensor | None:
    """Return what the op put out that joined logits with −∞ of the source: a diagonal, a selection, a sum."""
    one: ObservedTensor | None = logits
    for _ in range(MAX_HOPS):
        if one is None or is_literal(one):
            return None
        bad = _bad_inputs(graphs, one)
        if any(is_literal(other) for other in bad):
            return one
        one = bad[0] if len(bad) == 1 else None
    return None


def _picked_logits(graphs: CallGraphs, negated: ObservedTensor) -> ObservedTensor | None:
    """Return the logits behind log probabilities, of which a loss picked those of its labels and negated them."""
    one = _only_masked(_bad_input(graphs, negated))
    for _ in range(MAX_HOPS):
        if one is None or one.op not in LABEL_PICKS | VIEWS | LOG_PROBABILITY_OPS:
            return None
        before = _only_masked(_bad_input(graphs, one))
        if one.op in LOG_PROBABILITY_OPS:
            return before if one.elements > negated.elements else None
        one = before
    return None


def _only_masked(one: ObservedTensor | None) -> ObservedTensor | None:
    is_masked = one is not None and one.count("neg_inf") and not (one.has_nan or one.count("pos_inf"))
    return one if is_masked else None


def _bad_input(graphs: CallGraphs, one: ObservedTensor) -> ObservedTensor | None:
    bad = _bad_inputs(graphs, one)
    return bad[0] if len(bad) == 1 else None


def _bad_inputs(graphs: CallGraphs, one: ObservedTensor) -> list[ObservedTensor]:
    slots = graphs.graph_of(one).inputs_of(one)
    return [other for slot in slots for other in slot[:1] if other.bad]
