"""A table of positions that is shorter than a sample: which table, how many rows, and how many are needed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tensorsleuth.core.catalog import Failure
from tensorsleuth.trace.dataflow.call_graph import Moments
from tensorsleuth.trace.dataflow.observed import Observed
from tensorsleuth.trace.dataflow.variables import Variables

CAUSE = "position-out-of-range"
# The first index that is too large is as large as the table, and stands at that very place: 0, 1, 2, … were asked for.
_COUNTED = re.compile(r"indices\[(?:\d+,\s*)*(\d+)\] = \1 is not in \[0, \1\)")
_SAMPLES = re.compile(r"int(?:32|64) \[\d+, (\d+)\]")  # as a failure has what was fed


@dataclass(frozen=True)
class Beyond:
    """A lookup beyond the end of a position table."""

    rows: int
    needed: int  # as far as is known
    table: str | None

    @property
    def words(self) -> str:
        named = f"the table `{self.table}`" if self.table else "its table"
        asked = f"got position {self.rows}" + (
            f" of samples of {self.needed} tokens" if self.needed > self.rows + 1 else ""
        )
        return f"{asked}, and {named} has {self.rows} rows, for positions 0 … {self.rows - 1}"

    @property
    def fix(self) -> str:
        return (
            f"make the table of positions at least {self.needed} rows long (input_dim, max_position_embeddings), or "
            f"cut samples to {self.rows} tokens before they go in (ids[:, :{self.rows}])"
        )


def beyond_positions(failure: Failure, inputs: Iterable[Observed], moments: Moments) -> Beyond | None:
    """None where the error is not about positions, which count up from 0."""
    counted = _COUNTED.search(failure.message)
    if counted is None:
        return None
    rows, variables = int(counted.group(1)), Variables(moments)
    tables = (one for one in inputs if one.shape is not None and len(one.shape) > 1 and one.shape[0] == rows)
    names = (variables.name(handle) for one in tables if (handle := variables.handle_of(one)) is not None)
    return Beyond(rows, max(rows + 1, _longest(failure)), next(names, None))


def _longest(failure: Failure) -> int:
    """Return the number of tokens in the call's samples: integers in rows."""
    given = (_SAMPLES.match(said) for said in failure.inputs)
    return max((int(found.group(1)) for found in given if found is not None), default=0)
