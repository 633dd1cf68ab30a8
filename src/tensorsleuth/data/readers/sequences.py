"""Reads Sequence and PyDataset of Keras: objects that have a length and return a batch by its number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.block import Block, Column, Piece, SourceBase, dtype_name
from tensorsleuth.data.part_names import named_leaves
from tensorsleuth.data.schema import Schema

KERAS_CLASSES = ("Sequence", "PyDataset")


class SequenceSource(SourceBase):
    """Batches by number, in one pass and in order. `on_epoch_end` is not called, so the data do not change."""

    def __init__(self, sequence: Any) -> None:
        self._sequence = sequence
        if not len(sequence):
            raise SleuthError(f"{type(sequence).__name__} has no batches: its len() is 0.")
        first = {name: (np.asarray(leaf), named) for name, leaf, named in named_leaves(sequence[0])}
        columns = [
            Column(name, dtype_name(array.dtype), (None, *array.shape[1:]), named)
            for name, (array, named) in first.items()
        ]
        super().__init__(f"the {type(sequence).__name__}", tuple(columns))

    def blocks(self) -> Iterator[Block]:
        start = 0
        for number in range(len(self._sequence)):
            arrays = {name: np.asarray(leaf) for name, leaf, _ in named_leaves(self._sequence[number])}
            block = Block(start, {name: Piece(array, array.shape, start) for name, array in arrays.items()})
            yield block
            start += block.rows


def takes(data: Any) -> bool:
    kinds = {kind.__name__ for kind in type(data).__mro__ if "keras" in kind.__module__}
    return any(kind in kinds for kind in KERAS_CLASSES)


def open_data(data: Any, schema: Schema | None = None) -> SequenceSource:
    return SequenceSource(data)
