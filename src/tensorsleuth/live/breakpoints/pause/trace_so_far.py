"""The trace around the tensor at which the program is paused."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.breakpoints.tensor_in_memory import TensorInMemory
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.op_filter import make_op_filter
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.process_index import ProcessIndex
from tensorsleuth.trace.query.tensor_event import TensorEvent
from tensorsleuth.trace.query.tensors import ProcessSelection
from tensorsleuth.trace.storage.files import Folder


class PausedTrace:
    """The current trace, including the row of the paused tensor."""

    def __init__(self, folder: Folder, tensor_in_memory: TensorInMemory) -> None:
        self._sight = tensor_in_memory
        self._process_index = ProcessIndex(ProcessTrace(folder), 0)

    @cached_property
    def event(self) -> TensorEvent:
        """Return the row of the paused tensor."""
        rows = self._process_index.process.events
        same = np.flatnonzero((rows["tensor"] == self._sight.tensor) & (rows["step"] == self._sight.run))
        if not len(same):
            raise SleuthError("this tensor is not in the trace, so its inputs and consumers are unknown.")
        return ProcessSelection(self._process_index, same[-1:]).event(0)

    def value(self, name: str) -> Array:
        """Return the latest recorded value of a tensor by name, from the same call if possible."""
        wants = make_op_filter(name_pattern=name)
        passing = [place for place, op in enumerate(self._process_index.op_index.ops) if wants(op)]
        numbers = np.flatnonzero(np.isin(self._process_index.op_numbers, passing))
        events = [
            ProcessSelection(self._process_index, numbers[at : at + 1]).event(0)
            for at in range(len(numbers) - 1, -1, -1)[:100]
        ]
        if wants.output is not None:
            events = [event for event in events if event.output == wants.output]
        kept = next((event.value for event in events if event.value is not None), None)
        if kept is None:
            why = "its value was not kept (record with mode FULL_TENSOR)" if events else self._unknown(name)
            raise SleuthError(f"no value of {name!r}: {why}.")
        return kept

    def _unknown(self, name: str) -> str:
        near = [op.name for op in self._process_index.op_index.ops if name.lower() in op.name.lower()][:5]
        return f"no tensor of that name was computed; similar names are {', '.join(near)}" if near else "no such tensor"

    def source(self, file: str | None) -> str | None:
        """Return the text of a source file of the program."""
        return self._process_index.process.catalogue.sources.get(file) if file else None

    def op(self) -> Op:
        return self.event.op
