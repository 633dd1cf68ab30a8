"""Gaps: rows that a small circular buffer overwrote. An input of a later tensor may have been bad in one."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property

from tensorsleuth.core.layout.rows import NO_UID
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES, VARIABLE_READS
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.dataflow.variables import VariableIndex


class RowGaps:
    """Says whether the rows that show a tensor's inputs still exist."""

    def __init__(self, call_graphs: CallGraphs, variables: VariableIndex) -> None:
        self._calls = call_graphs.calls
        self._flow = call_graphs.flow
        self._process = call_graphs.process
        self._variables = variables

    @cached_property
    def _times(self) -> list[int]:
        return self._process.gap_times

    def hide_inputs(self, one: ObservedTensor) -> bool:
        """Return whether an input of a tensor may have had a row that was overwritten."""
        if not self._times or one.row is None or one.call < 0 or one.op in EXTERNAL_SOURCES:
            return False
        call = self._calls.row(one.call)
        if call is None or self._lie_between(int(call["time"]), int(one.row["time"])):
            return True
        return self._hide_write(one) if one.op in VARIABLE_READS else self._hide_argument(one)

    def _lie_between(self, begin: int, end: int) -> bool:
        at = bisect_left(self._times, begin)
        return at < len(self._times) and self._times[at] <= end

    def _hide_write(self, one: ObservedTensor) -> bool:
        """Return whether the last write of the variable that a tensor was read from may be gone."""
        handle = self._variables.handle_of(one)
        write = self._variables.last_write(handle, one.call) if handle is not None else None
        row = self._calls.row(write.call) if write is not None else None
        return row is None or one.row is None or self._lie_between(int(row["time"]), int(one.row["time"]))

    def _hide_argument(self, one: ObservedTensor) -> bool:
        uids = self._calls.inputs(one.call)
        taken = uids if one.tensor.eager is not None else [uids[at] for at in self._arguments(one) if at < len(uids)]
        return any(uid != NO_UID and self._calls.event_of(uid) is None for uid in taken)

    def _arguments(self, one: ObservedTensor) -> list[int]:
        """Return the arguments of the surrounding call that an op inside a function takes."""
        tensor = one.tensor
        if tensor.instance is None or tensor.function is None or tensor.node is None:
            return []
        slots = self._flow.input_sources(tensor.instance, tensor.function.number(tensor.node))
        return [source.argument for slot in slots for source in slot if source.argument >= 0]
