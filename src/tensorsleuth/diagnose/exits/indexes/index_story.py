"""An index or a label out of range in words: its value and origin, the tensor that it indexes, and what to change."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.indexing import (
    INDEX_INPUTS,
    INDEXED_INPUTS,
    LABEL_OPS,
    SCATTER_OPS,
    SEGMENT_OPS,
    SLICE_OPS,
)
from tensorsleuth.diagnose.exits.failure import FatalError
from tensorsleuth.diagnose.exits.indexes.bad_index import BadIndex, bad_index
from tensorsleuth.diagnose.exits.indexes.input_origin import InputOrigin, InputOrigins
from tensorsleuth.diagnose.exits.indexes.table_column import FAR_BEYOND, Column, is_foreign
from tensorsleuth.diagnose.exits.refusals.size_source import Axis, size_source
from tensorsleuth.diagnose.exits.sized_tensor import SizedTensor
from tensorsleuth.trace.process.process import ProcessTrace


@dataclass(frozen=True)
class IndexStory:
    """An index that was out of range, and what is known of it."""

    index: BadIndex
    op: str
    indexed: SizedTensor | None  # the table, or the variable that gives the number of classes
    origin: InputOrigin | None  # of the tensor that holds the index
    columns: tuple[Column, ...] = ()  # of the data that are looked up in tables, in the same function

    @classmethod
    def of_error(cls, process: ProcessTrace, error: FatalError) -> IndexStory | None:
        """Return the story of an error; None if it is not about an index of an op with rows to take."""
        index = bad_index(error.failure.message)
        if index is None or error.op not in INDEX_INPUTS:
            return None
        origins = InputOrigins(process, error.failure, error.node)
        indexed = origins.tensor(INDEXED_INPUTS[error.op]) if error.op in INDEXED_INPUTS else None
        if indexed is not None and error.op in LABEL_OPS:
            indexed = size_source(Axis(indexed, -1)).tensor
        origin = origins.of_slot(INDEX_INPUTS[error.op]) if error.op not in SLICE_OPS else None
        return cls(_with_size(index, indexed), error.op, indexed, origin, tuple(origins.looked_up()))

    def sentence(self, here: Frame | None) -> str:
        """Return what the op got: `got the index 99 at [0, 2], fed in a.py:7; table [10, 4] of a.py:3 has 0 … 9`."""
        what = "label" if self.is_label else "segment id" if self.op in SEGMENT_OPS else "index"
        origin = self.origin.words(here) if self.origin is not None else ""
        got = f"got the {what} {self.index.words}{f', {origin}' if origin else ''}"
        right = self._right_words(here)
        if self.is_foreign:
            right += ", so what arrives there is hardly an id of this table"
        return "; ".join(part for part in (got, right) if part)

    def _right_words(self, here: Frame | None) -> str:
        right = self.index.range_words
        if right is None:
            return ""
        named = self.indexed.words(here) if self.indexed is not None else ""
        if self.is_label:
            by = f" ({named})" if named and self.indexed is not None and self.indexed.is_variable else ""
            return f"there are {self.index.high} classes{by}, so labels must be {right}"
        axis = f" along axis {self.index.axis}" if self.index.axis else ""
        return f"{named} has {right}{axis}" if named else f"right are {right}{axis}"

    @property
    def is_label(self) -> bool:
        return self.op in LABEL_OPS

    @property
    def is_foreign(self) -> bool:
        """Return whether what was looked up in a table of rows is hardly an id of it."""
        is_table = self.indexed is not None and self.indexed.is_variable and self.op not in _NO_LOOKUPS
        return is_table and not self._is_swapped and is_foreign(self.index, self.columns)

    @property
    def _is_swapped(self) -> bool:
        """Return whether the ids would fit if the two sizes of the table were swapped."""
        shape = self.indexed.shape if self.indexed is not None else None
        wide = shape[1] if shape is not None and len(shape) == 2 else None
        return wide is not None and self.index.value < wide and wide >= FAR_BEYOND * (self.index.high or wide)

    @property
    def counts_from_one(self) -> bool:
        """Return whether the labels are 1 … N where 0 … N − 1 is right."""
        labels = self.index.all
        return self.is_label and self.index.value == self.index.high and min(labels, default=0) >= 1

    @property
    def fix(self) -> str:
        """Return the advice that fits the value."""
        value, size = self.index.value, self.index.high
        if self.is_label:
            return self._label_fix()
        if self.op in SEGMENT_OPS:
            return f"num_segments must be at least {value + 1}: tf.reduce_max(ids) + 1" if value >= 0 else _NO_NEGATIVE
        if value < 0 and self.op not in SLICE_OPS:
            return _NO_NEGATIVE
        if self.op in SCATTER_OPS:
            return f"make the tensor at least {value + 1} long there, or leave out indexes beyond its end"
        if self.indexed is not None and self.indexed.is_variable:
            return self._table_fix()
        if size is not None and value == size:
            return f"elements are counted from 0, so the last one is {size - 1}: a count up to {size} goes one too far"
        return (
            f"keep the index within {self.index.range_words}" if size is not None else "keep the index within the axis"
        )

    def _table_fix(self) -> str:
        value, size = self.index.value, self.index.high
        if self._is_swapped:
            return _SWAPPED
        if self.is_foreign:
            return f"{_COLUMN} it needs input_dim of at least {value + 1}"
        if value == size:
            return (
                f"make the table one row longer (input_dim={value + 1}): the vocabulary, and one more for padding or "
                "unknown ids; or subtract 1 from ids that start at 1"
            )
        return (
            f"give the table as many rows as the vocabulary has (input_dim of at least {value + 1}), or map ids beyond "
            f"row {(size or 1) - 1} to one id for unknown"
        )

    def _label_fix(self) -> str:
        value, classes = self.index.value, self.index.high or 0
        if value < 0:
            return f"{value} is no class: leave out samples without a label, or give them the sample weight 0"
        if self.counts_from_one:
            return f"the labels count from 1: subtract 1 (labels - 1), so that they are 0 … {classes - 1}"
        largest = max(self.index.all, default=value)
        return (
            f"the labels go up to {largest}: give the last layer {largest + 1} units in place of {classes}, "
            f"or correct the labels beyond {classes - 1}"
        )


_NO_LOOKUPS = LABEL_OPS | SEGMENT_OPS | SCATTER_OPS | SLICE_OPS
_SWAPPED = "swap the two sizes of the table: the first one is the number of ids, the second one that of the features"
_COLUMN = (
    "look whether the column that arrives is the one that this table was made for: compare the names and the order of "
    "the features with those of the model's inputs, and give it a dict with their names. If they are its ids after all,"
)
_NO_NEGATIVE = (
    "no row is counted from the end here: give −1, which often stands for padding or unknown, a row of its own "
    "(ids + 1), or replace it and mask the result"
)


def _with_size(index: BadIndex, indexed: SizedTensor | None) -> BadIndex:
    """Return the index with the size of its axis, if the message left that out."""
    shape = indexed.shape if indexed is not None else None
    size = shape[index.axis] if shape is not None and index.axis < len(shape) else None
    if index.high is not None or size is None:
        return index
    return BadIndex(index.value, index.place, 0, size, index.axis)
