"""One computed tensor: its statistics, its inputs and its consumers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.fit_position import FitPosition
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.trace.dataflow.call_graph import CallGraph
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor, Row
from tensorsleuth.trace.process.process import TensorInfo
from tensorsleuth.trace.query.columns import COLUMNS
from tensorsleuth.trace.query.ops import ARGUMENT, Op
from tensorsleuth.trace.query.process_index import ProcessIndex

MAX_CONSUMERS = 20


class SourceLine(NamedTuple):
    """A line of the program, with its text as it was during the run."""

    file: str
    line: int
    function: str
    code: str | None


class TensorEvent:
    """A tensor that was computed once. A fused-away tensor or a constant has no row, and therefore no health."""

    def __init__(
        self,
        process_index: ProcessIndex,
        op: Op,
        output: int,
        row: Row | None,
        call_graph: CallGraph | None = None,
        constant: Any = None,
        number: int | None = None,
    ) -> None:
        self.op = op
        self.output = output
        self.row = row  # of trace.events; None if the tensor was not recorded
        self._index = process_index
        self._known_call_graph = call_graph
        self._constant = constant
        self._known_number = number

    def __repr__(self) -> str:
        where = f" {self.op.file.rsplit('/', 1)[-1]}:{self.op.line}" if self.op.file else ""
        step = f" step {self.step}" if self.step is not None else ""
        state = " not seen" if self.row is None and self._constant is None else " bad" if self.bad else ""
        return f"<{self.op.type} {self.name}{where}{step}{state}>"

    @property
    def name(self) -> str:
        """The op's name and the number of the output: `dense/MatMul:0`."""
        return f"{self.op.name}:{self.output}"

    @property
    def layer(self) -> str | None:
        """The Keras layer, or name scope, of its op."""
        return self.op.layer

    @property
    def step(self) -> int | None:
        """The training step that computed it."""
        if self.row is None:
            step: int | None = int(self._index.steps_of(np.array([self._call_graph.call]))[0])
        else:
            step = self._index.process.step_of(self.row)
        return step if step is not None and step >= 0 else None

    @property
    def epoch(self) -> int | None:
        """The epoch of the Keras model that computed it."""
        return self._batch.epoch if self._batch is not None else None

    @property
    def batch(self) -> int | None:
        """The batch in that epoch, or of `evaluate` or `predict`."""
        return self._batch.batch if self._batch is not None else None

    @property
    def _batch(self) -> FitPosition | None:
        process = self._index.process
        call = process.call_of(self.row) if self.row is not None else self._call_graph.call
        return process.batches.of_call(call) if call is not None else None

    @property
    def iteration(self) -> int | None:
        """The iteration of the innermost loop; None for an eager tensor."""
        return int(self.row["iteration"]) if self.row is not None and self.row["kind"] == EventKind.GRAPH else None

    @property
    def dtype(self) -> str | None:
        """Its dtype, as TensorFlow names it."""
        return str(self.health["dtype"]) if self.row is not None else None

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Its shape, if the mode recorded it."""
        return self._index.process.shape_of(self.row) if self.row is not None else None

    @property
    def bad(self) -> bool:
        """Return whether it holds a NaN or an infinity."""
        if self._constant is not None:
            return not np.isfinite(self._constant).all()
        return self.row is not None and bool(self.row["flags"] & EventFlag.BAD)

    @cached_property
    def health(self) -> dict[str, Any]:
        """The columns of `Tensors.health` for this tensor; empty if it has no row."""
        if self.row is None:
            return {}
        rows = np.array([self.row], self._index.process.events.dtype)
        when = {name: -1 if (at := getattr(self, name)) is None else at for name in ("step", "epoch", "batch")}
        made = {name: make(self._index.process, rows).tolist()[0] for name, make in COLUMNS.items()}
        return {"process": self._index.number, **when, **made}

    @property
    def source(self) -> SourceLine | None:
        """The line that made it; for a gradient, the line of the forward op."""
        op = self.op
        if op.file is None or op.line is None:
            return None
        lines = self._index.process.catalogue.sources.get(op.file, "").splitlines()
        code = lines[op.line - 1].strip() if 0 < op.line <= len(lines) else None
        return SourceLine(op.file, op.line, op.function or "", code)

    @cached_property
    def value(self) -> Array | None:
        """Return the value of the tensor, if it was kept: in mode FULL_TENSOR, and of small constants."""
        if self._constant is not None:
            return np.array(self._constant) if len(self._constant) else None
        if self.row is None or not self.row["flags"] & EventFlag.VALUE:
            return None
        return self._index.process.value(self.number)

    @cached_property
    def number(self) -> int:
        """Its index among the events of its process; -1 if it has no row."""
        if self._known_number is not None or self.row is None:
            return self._known_number if self._known_number is not None else -1
        number = self._call_graph.event_number(self.row)
        return number if number is not None else -1

    # ---- neighbours

    @cached_property
    def _call_graph(self) -> CallGraph:
        if self._known_call_graph is not None:
            return self._known_call_graph
        assert self.row is not None
        call = self._index.process.call_of(self.row)
        moments = self._index.call_graphs
        return moments.of_call(call) if call is not None else moments.of_dataset(int(self.row["step"]))

    def inputs(self) -> list[TensorEvent]:
        """The inputs of its op, followed through views and calls, as far as they were recorded."""
        if self.op.first_tensor < 0:  # the catalogue does not know the tensor
            return []
        if self.op.type == ARGUMENT:
            found = self._passed_tensors()
        else:
            slots = self._call_graph.inputs_of(ObservedTensor(self._index.process, self._tensor(), self.row))
            found = [one for slot in slots for one in slot]
        return [event for one in found for event in self._event(one)]

    def _passed_tensors(self) -> list[ObservedTensor]:
        """Return the tensor that Python passed as this argument."""
        moments = self._index.call_graphs
        uids = moments.calls.inputs(self._call_graph.call)
        number = self.op.first_tensor - moments.process.catalogue.instances[self.op.instance].first_tensor
        found = moments.by_uid(uids[number]) if number < len(uids) else None
        return [found] if found is not None else []

    def _tensor(self) -> TensorInfo:
        catalogue, op = self._index.process.catalogue, self.op
        if op.eager >= 0:
            return TensorInfo(op.name, op.type, self.output, None, eager=catalogue.eager[op.eager])
        instance = catalogue.instances[op.instance]
        function = catalogue.functions[instance.function]
        return TensorInfo(op.name, op.type, self.output, None, instance, function, function.nodes[op.node])

    def _event(self, one: ObservedTensor) -> Iterator[TensorEvent]:
        op = self._index.op_index.op_of(one.tensor)
        if op is not None:
            moment = self._call_graph if one.row is None else None
            yield TensorEvent(self._index, op, one.tensor.output, one.row, moment, one.constant)

    def consumers(self, limit: int = MAX_CONSUMERS) -> list[TensorEvent]:
        """Return the outputs of the ops that took it, at most `limit`. An op without recorded outputs counts as one."""
        tensor = self.op.first_tensor + self.output
        takers = self._index.consumers.consumers_of(tensor, self.row, self._call_graph)
        return list(islice((event for op, moment in takers for event in self._outputs(op, moment)), limit))

    def _outputs(self, op: Op, call_graph: CallGraph) -> Iterator[TensorEvent]:
        tensors = call_graph.rows["tensor"].astype(np.int64) - op.first_tensor
        rows = call_graph.rows[(tensors >= 0) & (tensors < op.outputs)]
        if self.iteration is not None and call_graph is self._call_graph:
            near = rows[(rows["frame"] == self.row["frame"]) & (rows["iteration"] == self.iteration)]  # type: ignore[index]
            rows = near if len(near) else rows[-op.outputs :]
        if not len(rows):
            yield TensorEvent(self._index, op, 0, None, call_graph)
        for row in rows:
            yield TensorEvent(self._index, op, int(row["tensor"]) - op.first_tensor, row)


def call_graph_of(event: TensorEvent) -> CallGraph:
    """Return the graph of the call, or of the run of a dataset's function, that computed a tensor."""
    return event._call_graph
