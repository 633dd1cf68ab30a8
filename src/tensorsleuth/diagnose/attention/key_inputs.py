"""The ids that attention reads: the source of its keys."""

from __future__ import annotations

from functools import cached_property

from tensorsleuth.diagnose.attention.attention_graph import Attending, attention_of
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.token_samples import Sequences, sequences_of
from tensorsleuth.trace.process.process import ProcessTrace

MOST = 20_000  # ops that are walked
Names = frozenset[str]


class KeyTexts:
    """Asked about one process."""

    def __init__(self, process: ProcessTrace) -> None:
        self.given = process.once(Given)
        self.training = self.given.training
        self.texts = sequences_of(self.given)

    @cached_property
    def _sides(self) -> dict[Spot, tuple[Names, Names]]:
        """Return for each attention, by its softmax, the sources of its queries and of its keys."""
        return {one.softmax: self._reads(one) for one in attention_of(self.training)}

    @cached_property
    def _read_whole(self) -> Names:
        """Texts that another attends to: those of an encoder."""
        return frozenset(
            name for queries, keys in self._sides.values() if len(keys) == 1 and queries - keys for name in keys
        )

    def of(self, one: Attending) -> list[Sequences]:
        """The ids that its keys are: one text, unless the graph leaves it open."""
        _, keys = self._sides.get(one.softmax, (frozenset(), frozenset()))
        names = keys - self._read_whole or keys  # a decoder's states are made of both texts
        return [text for text in self.texts if text.series.name in names]

    def _reads(self, one: Attending) -> tuple[Names, Names]:
        node = one.scores.described
        keys = keys_slot(str(node.attrs.get("equation", ""))) if node is not None else 1
        slots = self.training.around.inputs(one.scores)
        sides = [slots[1 - keys], slots[keys]] if len(slots) == 2 else [[], []]
        queries, read = (self._texts_before(side) for side in sides)
        return queries, read

    def _texts_before(self, start: list[Spot]) -> Names:
        looked_up = {text.lookup.spot: text.series.name for text in self.texts}
        level, seen = start, set(start)
        while level and len(seen) < MOST:
            sources = {one for spot in level for slot in self.training.around.inputs(spot) for one in slot}
            level = [one for one in sources if one not in seen]
            seen |= sources
        return frozenset(name for spot, name in looked_up.items() if spot in seen)


def keys_slot(equation: str) -> int:
    """Return the operand of the scores that holds the keys: the one with the last axis; the second of a MatMul."""
    taken, _, made = equation.partition("->")
    names = taken.split(",")
    return 0 if len(names) == 2 and made and made[-1] in names[0] and made[-1] not in names[1] else 1
