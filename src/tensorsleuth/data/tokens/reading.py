"""Turns the user's data (arrays, dicts, tuples, data sets, files) into batches of ids, masks, labels and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.block import Block, Column, Piece, SourceBase
from tensorsleuth.data.part_names import named_leaves
from tensorsleuth.data.readers import open_source
from tensorsleuth.data.readers.datasets import piece_of
from tensorsleuth.data.readers.ragged import ragged_piece
from tensorsleuth.data.tokens.batch import NamedGrid, TokenBatch, TokenStream
from tensorsleuth.data.tokens.grid import Grid, grid_of
from tensorsleuth.data.tokens.roles import (
    DECODER_IDS,
    DECODER_MASK,
    IDS,
    LABELS,
    MASK,
    POSITIONS,
    SEGMENTS,
    WEIGHTS,
    Argument,
    find_roles,  # fmt: skip
)
from tensorsleuth.data.tokens.settings import TokenSettings

ROWS_PER_BLOCK = 8192  # of a structure, checked together


class StructureSource(SourceBase):
    """Arrays, tensors, lists of lists, in dicts and tuples."""

    def __init__(self, structure: Any, named: Mapping[str, Any]) -> None:
        leaves = {name: leaf for name, leaf, _ in named_leaves(_unlisted(structure))} | dict(named)
        self._pieces = {name: _piece(name, leaf) for name, leaf in leaves.items() if leaf is not None}
        if not self._pieces:
            raise SleuthError("the batch contains no array. Pass ids, or a dict with input_ids.")
        columns = tuple(Column(name, piece.dtype, piece.shape) for name, piece in self._pieces.items())
        super().__init__("the batch", columns, max(_rows(piece) for piece in self._pieces.values()))

    def blocks(self) -> Iterator[Block]:
        rows = self.rows or 0
        if any(piece.ragged or not piece.shape for piece in self._pieces.values()) or rows <= ROWS_PER_BLOCK:
            yield Block(0, self._pieces, count=rows)
            return
        for start in range(0, rows, ROWS_PER_BLOCK):
            cut = {
                name: Piece(piece.array[start : start + ROWS_PER_BLOCK], piece.shape, start, piece.dtype)
                for name, piece in self._pieces.items()
            }
            yield Block(start, cut)


def _unlisted(structure: Any) -> Any:
    """Return lists of numbers or texts as rows, not as parts."""
    if isinstance(structure, Mapping):
        return {name: _unlisted(one) for name, one in structure.items()}
    if isinstance(structure, list) and not any(hasattr(one, "shape") or isinstance(one, Mapping) for one in structure):
        return _piece("the list", structure)
    return tuple(_unlisted(one) for one in structure) if type(structure) is tuple else structure


def _piece(name: str, leaf: Any) -> Piece:
    if isinstance(leaf, Piece):
        return leaf
    if hasattr(leaf, "flat_values") or hasattr(leaf, "dense_shape"):  # tensors of TensorFlow
        return piece_of(leaf, 0)
    if isinstance(leaf, (list, tuple)) and leaf and all(isinstance(row, (list, tuple, np.ndarray)) for row in leaf):
        lengths = np.array([len(row) for row in leaf])
        if lengths.min() != lengths.max() or not lengths.max():
            return ragged_piece(
                np.concatenate([np.asarray(row, None if len(row) else np.int64) for row in leaf]), lengths, 0
            )
    array = np.asarray(leaf)
    if array.dtype.kind == "O" and array.size and not isinstance(array.reshape(-1)[0], (str, bytes, type(None))):
        kind = type(array.reshape(-1)[0]).__name__
        raise SleuthError(f"{name} holds objects of type {kind}: ids, masks, labels and text can be checked.")
    return Piece(array if array.ndim else array.reshape(1), array.shape)


def _rows(piece: Piece) -> int:
    if piece.places is not None:
        return int(piece.places[:, 0].max(initial=-1)) + 1
    return len(piece.array)


def token_source(data: Any, **named: Any) -> Any:
    """Return the reader: for files and data sets that of `Schema.check`, for structures the one here."""
    reads = isinstance(data, (str, PathLike)) or type(data).__module__.startswith("pandas")
    if reads or (hasattr(data, "element_spec") or hasattr(data, "on_epoch_end")):
        source = open_source(data)
        if hasattr(source, "batched") and all(_is_single_sample(column) for column in source.columns):
            source.batched = False
        return source
    return StructureSource(data, {name: one for name, one in named.items() if one is not None})


def _is_single_sample(column: Column) -> bool:
    """Return whether it may be of a single sample: numbers without a dimension of rows, where ids have two."""
    return column.dtype != "string" and column.shape is not None and len(column.shape) < 2


class BatchMaker:
    """Makes batches from the blocks of a source. Roles are inferred from the first block and kept."""

    def __init__(self, token_settings: TokenSettings, roles: Mapping[str, str] | None = None) -> None:
        self.setting = token_settings
        self.roles: dict[str, str] = dict(roles or {})

    def batch(self, part: str, block: Block) -> TokenBatch:
        grids = {name: grid_of(piece, block.rows) for name, piece in block.pieces.items()}
        if not self.roles:
            arguments = [Argument(name, grid.values) for name, grid in grids.items()]
            self.roles = find_roles(arguments)
        named = {role: NamedGrid(name, grids[name]) for name, role in self.roles.items() if name in grids}
        if IDS in named and named[IDS].values.ndim == 1 and not named[IDS].grid.text:
            named = {role: NamedGrid(one.name, _as_row(one.grid)) for role, one in named.items()}
        texts = [NamedGrid(name, grid) for name, grid in grids.items() if grid.text]
        beside = {role: named[role] for role in (SEGMENTS, POSITIONS) if role in named}
        return TokenBatch(part, block.start, self._streams(named, block.start), texts, beside, block.rows)

    def _streams(self, named: dict[str, NamedGrid], start: int) -> list[TokenStream]:
        """Return the streams. With a decoder, the labels belong to its input."""
        streams = []
        decodes = DECODER_IDS in named
        for ids, mask, last in ((IDS, MASK, not decodes), (DECODER_IDS, DECODER_MASK, True)):
            if ids in named and not named[ids].grid.text:
                labels, weights = (named.get(role) if last else None for role in (LABELS, WEIGHTS))
                streams.append(
                    TokenStream(named[ids], self.setting, start, named.get(mask), labels, weights, decodes and last)
                )
        return streams


def _as_row(grid: Grid) -> Grid:
    """Return a single sequence as a batch of one."""
    return Grid(grid.values[None], None if grid.present is None else grid.present[None], (1, *grid.shape), grid.dtype)


def nothing_to_check(title: str, columns: Any) -> SleuthError:
    there = ", ".join(f"{column.name} ({column.dtype or 'unknown'})" for column in columns[:6])
    return SleuthError(
        f"{title} has neither token ids nor text: it has {there}. "
        "Name the array of ids input_ids; it must hold rows of integers."
    )
