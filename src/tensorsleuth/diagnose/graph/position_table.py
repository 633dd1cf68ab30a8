"""A position table that is shorter than a sample: its name, its rows, and the rows needed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tensorsleuth.core.catalog import FailedCall
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.dataflow.variables import VariableIndex

POSITION_CAUSE = "position-out-of-range"
# The first index that is too large is as large as the table, and stands at that very place: 0, 1, 2, … were asked for.
_POSITION_INDEX = re.compile(r"indices\[(?:\d+,\s*)*(\d+)\] = \1 is not in \[0, \1\)")
_SAMPLE_SHAPE = re.compile(r"int(?:32|64) \[\d+, (\d+)\]")  # as a failure has what was fed


@dataclass(frozen=True)
class PositionOverrun:
    """A lookup beyond the end of a position table."""

    rows: int
    needed_rows: int  # as far as is known
    table: str | None

    @property
    def words(self) -> str:
        named = f"the table `{self.table}`" if self.table else "its table"
        asked = f"got position {self.rows}" + (
            f" of samples of {self.needed_rows} tokens" if self.needed_rows > self.rows + 1 else ""
        )
        return f"{asked}, and {named} has {self.rows} rows, for positions 0 … {self.rows - 1}"

    @property
    def fix(self) -> str:
        return (
            f"make the table of positions at least {self.needed_rows} rows long (input_dim, "
            "max_position_embeddings), or "
            f"cut samples to {self.rows} tokens before they go in (ids[:, :{self.rows}])"
        )


def position_overrun(
    failed_call: FailedCall, inputs: Iterable[ObservedTensor], call_graphs: CallGraphs
) -> PositionOverrun | None:
    """Return the overrun; None if the error is not about positions, which count up from 0."""
    counted = _POSITION_INDEX.search(failed_call.message)
    if counted is None:
        return None
    rows, variables = int(counted.group(1)), VariableIndex(call_graphs)
    tables = (one for one in inputs if one.shape is not None and len(one.shape) > 1 and one.shape[0] == rows)
    names = (variables.name(handle) for one in tables if (handle := variables.handle_of(one)) is not None)
    return PositionOverrun(rows, max(rows + 1, _sample_length(failed_call)), next(names, None))


def _sample_length(failed_call: FailedCall) -> int:
    """Return the number of tokens in the call's samples: integers in rows."""
    given = (_SAMPLE_SHAPE.match(said) for said in failed_call.inputs)
    return max((int(found.group(1)) for found in given if found is not None), default=0)
