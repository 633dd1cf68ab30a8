"""The ids that attention reads: the source of its keys."""

from __future__ import annotations

from functools import cached_property

from tensorsleuth.diagnose.attention.attention_graph import AttentionOps, find_attention
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences, token_sequences
from tensorsleuth.trace.process.process import ProcessTrace

MAX_WALKED_OPS = 20_000  # ops that are walked
SeriesNames = frozenset[str]


class KeyInputs:
    """The sources of the keys of all attention in one process."""

    def __init__(self, process: ProcessTrace) -> None:
        self.model_inputs = process.cached(ModelInputs)
        self.training = self.model_inputs.training
        self.sequences = token_sequences(self.model_inputs)

    @cached_property
    def _queries_and_keys(self) -> dict[OpNode, tuple[SeriesNames, SeriesNames]]:
        """Return for each attention, by its softmax, the sources of its queries and of its keys."""
        return {one.softmax: self._inputs_of(one) for one in find_attention(self.training)}

    @cached_property
    def _encoder_inputs(self) -> SeriesNames:
        """Return the texts that another text attends to: those of an encoder."""
        return frozenset(
            name
            for queries, keys in self._queries_and_keys.values()
            if len(keys) == 1 and queries - keys
            for name in keys
        )

    def keys_of(self, one: AttentionOps) -> list[TokenSequences]:
        """Return the ids that its keys are computed from: one text, unless the graph is ambiguous."""
        _, keys = self._queries_and_keys.get(one.softmax, (frozenset(), frozenset()))
        names = keys - self._encoder_inputs or keys  # a decoder's states are made of both texts
        return [text for text in self.sequences if text.series.name in names]

    def _inputs_of(self, one: AttentionOps) -> tuple[SeriesNames, SeriesNames]:
        node = one.scores.graph_node
        keys = keys_slot(str(node.attrs.get("equation", ""))) if node is not None else 1
        slots = self.training.neighbours.input_ops(one.scores)
        sides = [slots[1 - keys], slots[keys]] if len(slots) == 2 else [[], []]
        queries, read = (self._inputs_before(side) for side in sides)
        return queries, read

    def _inputs_before(self, start: list[OpNode]) -> SeriesNames:
        looked_up = {text.lookup.gather: text.series.name for text in self.sequences}
        level, seen = start, set(start)
        while level and len(seen) < MAX_WALKED_OPS:
            sources = {one for spot in level for slot in self.training.neighbours.input_ops(spot) for one in slot}
            level = [one for one in sources if one not in seen]
            seen |= sources
        return frozenset(name for spot, name in looked_up.items() if spot in seen)


def keys_slot(equation: str) -> int:
    """Return the operand of the scores that holds the keys: the one with the last axis; the second of a MatMul."""
    taken, _, made = equation.partition("->")
    names = taken.split(",")
    return 0 if len(names) == 2 and made and made[-1] in names[0] and made[-1] not in names[1] else 1
