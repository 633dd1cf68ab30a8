"""First weights of the wrong size: in the first step the signal grows, or shrinks, from layer to layer."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.gradients import LAYER_PASSES
from tensorsleuth.core.ops.products import CONVOLUTIONS, PLAIN_MATMULS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

PRODUCTS = PLAIN_MATMULS | CONVOLUTIONS
FEWEST_LAYERS = 3
MAX_GAIN, MIN_GAIN = 3.0, 0.2  # of one layer: 1 keeps the signal as it is
MAX_TOTAL, MIN_TOTAL = 300.0, 1 / 300  # of all of them, one after the other
MAX_HOPS_TO_LAYER = 6  # ops between two layers
MOST_SHOWN = 6


@dataclass(frozen=True)
class LayerGain:
    """A layer, its input and that of the next layer in the first step, as largest absolute values."""

    op_node: OpNode
    before: float
    after: float
    handle: int

    @property
    def gain(self) -> float:
        return self.after / self.before


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    written = WrittenVariables(training)
    for chain in _chains(training):
        total = float(np.prod([one.gain for one in chain]))
        alike = all(one.gain > MAX_GAIN for one in chain) or all(one.gain < MIN_GAIN for one in chain)
        far = total > MAX_TOTAL or total < MIN_TOTAL
        if len(chain) >= FEWEST_LAYERS and alike and far and all(written.starts_at_random(one.handle) for one in chain):
            yield _finding(training, chain, total)
            return


RULE = Rule(id="poor-initialisation", severity=Severity.WRONG, find=find)


def _chains(training_graph: TrainingGraph) -> Iterator[list[LayerGain]]:
    """Yield layers that follow each other, with nothing between them that normalises."""
    sizes = _input_sizes(training_graph)
    after = {one: following for one in sizes if (following := _next_layer(training_graph, one, sizes)) is not None}
    for first in sizes.keys() - set(after.values()):
        chain, at = list[LayerGain](), first
        while at in after and len(chain) < len(sizes):
            handle = training_graph.weights_of(at, 2)[0]
            chain.append(LayerGain(at, sizes[at], sizes[after[at]], handle))
            at = after[at]
        yield chain


def _input_sizes(training_graph: TrainingGraph) -> dict[OpNode, float]:
    """Return the size of what each layer got in the first step; the output of a product may be fused away."""
    found: dict[OpNode, float] = {}
    for spot in training_graph.forward_ops(PRODUCTS):
        assert spot.instance is not None
        slots = training_graph.call_graphs.flow.input_sources(spot.instance, spot.node_index)
        if slots and len(slots[0]) == 1 and training_graph.takes_weights(spot) and training_graph.weights_of(spot, 2):
            size = _first_size(training_graph, slots[0][0].tensor)
            found |= {spot: size} if size else {}
    return found


def _first_size(training_graph: TrainingGraph, tensor: int) -> float | None:
    """Return the largest absolute value of a tensor the first time that it was seen."""
    events: Array = training_graph.process.events
    rows = events[events["tensor"] == tensor][:1]
    if not len(rows) or not rows["flags"][0] & EventFlag.RANGED:
        return None
    size = float(max(abs(rows["min"][0]), abs(rows["max"][0])))
    return size if np.isfinite(size) else None


def _next_layer(training_graph: TrainingGraph, spot: OpNode, layers: Container[OpNode]) -> OpNode | None:
    level, seen = {spot}, {spot}
    for _ in range(MAX_HOPS_TO_LAYER):
        users = {user for one in level for user in training_graph.neighbours.consumers(one) if not user.is_gradient}
        found = [one for one in users - seen if one in layers]
        if found:
            return found[0] if len(found) == 1 else None
        seen |= users
        level = {one for one in users if one.type in LAYER_PASSES}
    return None


def _finding(training_graph: TrainingGraph, chain: list[LayerGain], total: float) -> RuleFinding:
    grows = total > 1
    size = f"{total:,.0f} times larger" if grows else f"{1 / total:,.0f} times smaller"
    each = float(np.median([one.gain for one in chain]))
    why = (
        f"starts with weights that are too {'large' if grows else 'small'}: in the first step, "
        f"{pluralise(len(chain), 'layer')} "
        f"one after the other make the signal {size} (about {each:.3g}× each; 1× keeps it as it is), and gradients on "
        "the way back alike"
    )
    names = [training_graph.layer(one.op_node) or training_graph.variables.name(one.handle) for one in chain]
    evidence = tuple(
        text_evidence("also", name, f"{one.before:.3g} → {one.after:.3g}")
        for name, one in list(zip(names, chain, strict=True))[:MOST_SHOWN]
    )
    return RuleFinding(
        confidence=0.85,
        why=why,
        fix=_HE,
        frame=training_graph.variables.creation_line(chain[0].handle),
        op=chain[0].op_node.type,
        step=0,
        evidence=evidence,
    )


_HE = (
    "draw first weights with a standard deviation of sqrt(2 / fan_in): kernel_initializer='he_normal' before a ReLU, "
    "'glorot_uniform' (Keras's default) before tanh; or normalise between the layers"
)
