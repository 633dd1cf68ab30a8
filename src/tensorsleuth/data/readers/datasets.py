"""Reads a tf.data.Dataset: nested structures, in batches or one by one. Of ragged and sparse parts, only the values."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorsleuth.data.block import Block, Column, Piece, SourceBase
from tensorsleuth.data.part_names import bind_columns, named_leaves
from tensorsleuth.data.readers.ragged import ragged_piece
from tensorsleuth.data.schema import Schema

ELEMENTS_PER_BLOCK = 256  # of a data set without batches, checked together


class DatasetSource(SourceBase):
    """A data set of TensorFlow. Each pass over it runs its pipeline once."""

    def __init__(self, dataset: Any, schema: Schema | None) -> None:
        import tensorflow as tf

        self._dataset = dataset
        leaves = list(named_leaves(dataset.element_spec))
        columns = columns_of(leaves)
        super().__init__(
            "the data set",
            columns,
            notes=[note for column, leaf in zip(columns, leaves) for note in _notes(column, leaf[1])],
        )
        self._odd = any(isinstance(spec, (tf.RaggedTensorSpec, tf.SparseTensorSpec)) for _, spec, _ in leaves)
        self.batched = is_batched(columns, schema)

    def blocks(self) -> Iterator[Block]:
        elements = ({name: leaf for name, leaf, _ in named_leaves(element)} for element in self._dataset)
        return batch_blocks(elements) if self.batched or self._odd else stacked_blocks(elements)


def columns_of(leaves: Sequence[tuple[str, Any, bool]]) -> tuple[Column, ...]:
    """Return the parts of an element, as far as its spec describes them."""
    return tuple(Column(name, _dtype(spec), _shape(spec), named) for name, spec, named in leaves)


def batch_blocks(elements: Iterator[dict[str, Any]]) -> Iterator[Block]:
    """Yield a block for each element, which is a batch."""
    start = 0
    for element in elements:
        pieces = {name: piece_of(leaf, start) for name, leaf in element.items()}
        rows = _rows(element)
        yield Block(start, pieces, whole=not any(piece.ragged for piece in pieces.values()), count=rows)
        start += rows


def stacked_blocks(elements: Iterator[dict[str, Any]]) -> Iterator[Block]:
    """Yield blocks of elements that are one row each, as many as have the same shapes."""
    start, shapes = 0, None
    kept: list[dict[str, Any]] = []
    for element in elements:
        arrays = {name: np.asarray(leaf) for name, leaf in element.items()}
        like = {name: array.shape for name, array in arrays.items()}
        if kept and (like != shapes or len(kept) == ELEMENTS_PER_BLOCK):
            yield _stack(kept, start)
            start, kept = start + len(kept), []
        kept.append(arrays)
        shapes = like
    if kept:
        yield _stack(kept, start)


def _stack(kept: Sequence[dict[str, Any]], start: int) -> Block:
    arrays = {name: np.stack([element[name] for element in kept]) for name in kept[0]}
    return Block(start, {name: Piece(array, array.shape, start) for name, array in arrays.items()})


def piece_of(leaf: Any, start: int) -> Piece:
    """Return a batch of one part; for a ragged or sparse one its values, with their positions."""
    if hasattr(leaf, "flat_values"):
        flat = np.asarray(leaf.flat_values)
        inner = leaf.values if hasattr(leaf.values, "flat_values") else None
        lengths = np.asarray(leaf.row_lengths()) if inner is None else np.asarray(leaf.merge_dims(1, -1).row_lengths())
        each = flat.reshape(len(flat), -1).shape[1] if flat.ndim > 1 and len(flat) else 1
        return ragged_piece(flat.reshape(-1), lengths * (each if inner is None else 1), start)
    if hasattr(leaf, "dense_shape"):
        places = np.asarray(leaf.indices).copy()
        if places.shape[1]:
            places[:, 0] += start
        return Piece(np.asarray(leaf.values), None, start, None, places)
    array = np.asarray(leaf)
    return Piece(array if array.ndim else array.reshape(1), array.shape, start)


def _rows(element: dict[str, Any]) -> int:
    sizes = [int(leaf.shape[0]) for leaf in element.values() if leaf.shape.rank and leaf.shape[0] is not None]
    return max(sizes, default=1)


def is_batched(columns: Sequence[Column], schema: Schema | None) -> bool:
    """Return whether the first dimension of each part counts rows: by the schema, else by the shapes."""
    bound = bind_columns(schema, columns)
    declared = [
        (len(column.shape), len(shape))
        for column in columns
        if schema is not None
        and column.shape is not None
        and column.name in bound
        and (shape := schema[bound[column.name]].shape)
    ]
    if declared:
        return not all(rank == expected - 1 for rank, expected in declared)
    shapes = [column.shape for column in columns if column.shape is not None]
    firsts = {shape[0] if shape else "none" for shape in shapes}
    return firsts == {None} or (len(shapes) > 1 and len(firsts) == 1 and firsts != {"none"})


def _dtype(spec: Any) -> str | None:
    dtype = getattr(spec, "dtype", None)
    return None if dtype is None else str(dtype.name)


def _shape(spec: Any) -> tuple[int | None, ...] | None:
    shape = getattr(spec, "shape", None)
    return None if shape is None or shape.rank is None else tuple(shape.as_list())


def _notes(column: Column, spec: Any) -> Iterator[str]:
    kind = "ragged" if "Ragged" in type(spec).__name__ else "sparse" if "Sparse" in type(spec).__name__ else None
    if kind is not None:
        yield f"{column.name} is {kind}: its values are checked, its shape and its rows as wholes are not"


def takes(data: Any) -> bool:
    tensorflow = sys.modules.get("tensorflow")  # no data set exists before TensorFlow is imported
    return tensorflow is not None and isinstance(data, tensorflow.data.Dataset)


def open_data(data: Any, schema: Schema | None = None) -> DatasetSource:
    return DatasetSource(data, schema)
