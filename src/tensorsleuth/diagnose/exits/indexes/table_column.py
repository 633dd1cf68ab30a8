"""The column of the data that ids came in by, and whether it is the one that belongs to their table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.catalog import Function
from tensorsleuth.core.dtypes import DTypeKind, dtype_of, is_float
from tensorsleuth.core.ops.kinds import INPUT_OPS
from tensorsleuth.diagnose.exits.indexes.bad_index import BadIndex
from tensorsleuth.trace.process.process import TensorInfo

FAR_BEYOND = 10  # times the rows of a table: nobody miscounts a vocabulary by so much
FEW_BEYOND = 3  # rows: a vocabulary that was miscounted, with padding and unknown words


@dataclass(frozen=True)
class Column:
    """A part of a batch, or an argument of a function."""

    name: str
    dtype: int
    beside: tuple[int, ...] = ()  # the dtypes of the other features of the batch

    @property
    def words(self) -> str:
        return f"{self.name} ({dtype_of(self.dtype).name})"

    @property
    def is_odd_float(self) -> bool:
        """Return whether it holds floats, while other features of the batch hold integers, as ids do."""
        return is_float(self.dtype) and any(dtype_of(one).kind is DTypeKind.INT for one in self.beside)

    @classmethod
    def of_tensor(cls, tensor: TensorInfo | None, argument: int) -> Column | None:
        """Return the column that a tensor is: an argument of a function, or an output of an iterator's op."""
        function = tensor.function if tensor is not None else None
        if tensor is None or function is None:
            return None
        if argument >= 0:
            return cls(function.arguments[argument], function.argument_dtypes[argument])
        if tensor.node is None or tensor.type not in INPUT_OPS:
            return None
        return _of_batch(function, tensor.node.dtypes, tensor.output)


def is_foreign(index: BadIndex, columns: Iterable[Column]) -> bool:
    """Return whether an index is hardly an id of its table: it is far beyond, or the columns seem to be out of order.

    The columns are that of the index, and those that the same function looks up in other tables.
    """
    if index.high is None or index.value <= index.high + FEW_BEYOND:
        return False
    return index.value >= FAR_BEYOND * index.high or any(one.is_odd_float for one in columns)


def _of_batch(function: Function, dtypes: tuple[int, ...], at: int) -> Column:
    names = function.elements
    if len(names) != len(dtypes):
        return Column("", dtypes[at])
    part = names[at].partition("/")[0]
    beside = (dtype for name, dtype in zip(names, dtypes) if name.partition("/")[0] == part and name != names[at])
    return Column(program_input_name(f"on_iterator/{names[at]}"), dtypes[at], tuple(beside))
