"""The purpose of a buffer: its kind, op, layer and line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.analyze.memory.buffer_rows import EAGER
from tensorsleuth.analyze.memory.lifetimes import BufferLifetime, BufferLifetimes
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES, writes_variables
from tensorsleuth.trace.dataflow.observed_tensor import uids_of
from tensorsleuth.trace.dataflow.variables import VariableIndex
from tensorsleuth.trace.query.ops import Op

WEIGHTS, GRADIENTS, OPTIMIZER = "weights", "gradients", "optimizer state"
ACTIVATIONS, INPUTS, TEMPORARIES = "activations", "inputs", "temporaries"
KINDS = (WEIGHTS, OPTIMIZER, GRADIENTS, ACTIVATIONS, INPUTS, TEMPORARIES)
_TAPE = "gradient_tape/"


@dataclass(frozen=True, slots=True)
class MemoryLabel:
    """The purpose of a buffer."""

    name: str  # of the op, or of the variable
    kind: str
    op: str
    dtype: str
    shape: tuple[int, ...] | None
    layer: str | None
    file: str | None
    line: int | None
    tensor: int  # tensor id
    process: int = 0

    @property
    def place(self) -> str | None:
        return f"{self.file}:{self.line}" if self.file is not None else None


class MemoryLabels:
    """Finds the purpose of buffers, at first use."""

    def __init__(self, buffer_lifetimes: BufferLifetimes) -> None:
        self._process_index = buffer_lifetimes.process_index
        self._process = buffer_lifetimes.process_index.process
        self._catalogue = buffer_lifetimes.process_index.process.catalogue
        self._kinds: dict[int, str] = {}

    def label_of(self, buffer_lifetime: BufferLifetime) -> MemoryLabel:
        row = self._process.buffers[buffer_lifetime.row]
        tensor = int(row["tensor"])
        dtype, shape = dtype_of(int(row["dtype"])).name, self._process.shape_of(row)
        if buffer_lifetime.variable is not None:
            return self._of_variable(buffer_lifetime.variable, dtype, shape, tensor)
        op = self._op(tensor)
        kind = self.kind(buffer_lifetime)
        if op is None:
            return MemoryLabel("?", kind, "?", dtype, shape, None, None, None, tensor, self._process_index.number)
        return MemoryLabel(
            op.name, kind, op.type, dtype, shape, op.layer, op.file, op.line, tensor, self._process_index.number
        )

    def kind(self, buffer_lifetime: BufferLifetime) -> str:
        """Return the kind of a buffer, one of KINDS."""
        return self.kinds([buffer_lifetime])[0]

    def kinds(self, lives: list[BufferLifetime]) -> list[str]:
        """Return the kinds of many buffers."""
        rows = self._process.buffers[[life.row for life in lives]]
        columns = rows["tensor"].tolist(), (rows["kind"] == EAGER).tolist(), uids_of(rows).tolist()
        return [self._kind_of(*one) for one in zip(lives, *columns, strict=True)]

    def _kind_of(self, buffer_lifetime: BufferLifetime, tensor: int, eager: bool, uid: int) -> str:
        if buffer_lifetime.variable is not None:
            return OPTIMIZER if buffer_lifetime.variable in self._optimizers else WEIGHTS
        if tensor not in self._kinds:
            self._kinds[tensor] = self._kind(tensor)
        kind = self._kinds[tensor]
        return ACTIVATIONS if eager and kind == TEMPORARIES and self._is_differentiated(uid) else kind

    def _op(self, tensor: int) -> Op | None:
        described = self._process.tensor(tensor)
        return self._process_index.op_index.op_of(described) if described is not None else None

    def _kind(self, tensor: int) -> str:
        op = self._op(tensor)
        if op is None:
            return TEMPORARIES
        if op.type in EXTERNAL_SOURCES or self._is_of_dataset(op):
            return INPUTS
        if _is_gradient(op):
            return GRADIENTS
        return (
            ACTIVATIONS if any(map(_is_gradient, self._process_index.consumers.node_consumers(tensor))) else TEMPORARIES
        )

    def _is_of_dataset(self, op: Op) -> bool:
        return op.instance in self._catalogue.datasets

    def _is_differentiated(self, uid: int) -> bool:
        """Return whether a gradient function took an eager tensor as input."""
        calls = self._process_index.call_graphs.calls
        ops = (calls.op(call) for call in calls.consumers(uid))
        return any(op is not None and (op.forward > 0 or op.type.startswith("__backward")) for op in ops)

    # ---- variables

    @cached_property
    def _variables(self) -> VariableIndex:
        return VariableIndex(self._process_index.call_graphs)

    def _of_variable(self, handle: int, dtype: str, shape: tuple[int, ...] | None, tensor: int) -> MemoryLabel:
        name, frame = self._variables.name(handle), self._variables.creation_line(handle)
        kind = OPTIMIZER if handle in self._optimizers else WEIGHTS
        file, line = (frame.file, frame.line) if frame is not None else (None, None)
        layer = name.rpartition("/")[0] or None
        return MemoryLabel(name, kind, "Variable", dtype, shape, layer, file, line, tensor, self._process_index.number)

    @cached_property
    def _optimizers(self) -> set[int]:
        """The variables of an optimizer: as Keras says, else those that no gradient goes through."""
        known = {uid for uid, (_, role) in self._catalogue.variables.items() if role == "optimizer"}
        return known | {uid for uid in self._bystanders() if uid not in self._catalogue.variables}

    def _bystanders(self) -> set[int]:
        """The variables that training functions use but do not differentiate."""
        used: dict[int, bool] = {}
        for instance, function in self._catalogue.called_functions():
            if instance.parent >= 0 or function.kind != "train":
                continue
            for number, captured in function.captures.items():
                uid = captured.get("uid")
                if captured.get("variable") and uid is not None:
                    used[int(uid)] = used.get(int(uid), False) or self._is_trained(instance.first_tensor + number)
        return {uid for uid, trained in used.items() if not trained}

    def _is_trained(self, handle: int) -> bool:
        """Return whether an op with a gradient reads a variable."""
        reads = [op for op in self._process_index.consumers.node_consumers(handle) if not writes_variables(op.type)]
        takers = [taker for op in reads for taker in self._process_index.consumers.node_consumers(op.first_tensor)]
        return any(self._has_gradient(op) or _is_gradient(op) for op in [*reads, *takers])

    def _has_gradient(self, op: Op) -> bool:
        return (op.graph, op.name) in self._differentiated

    @cached_property
    def _differentiated(self) -> set[tuple[str | None, str]]:
        return {
            (function.name, node.forward.name)
            for function in self._catalogue.functions.values()
            for node in function.nodes
            if node.forward is not None and node.forward.graph == function.graph
        }


def _is_gradient(op: Op) -> bool:
    return op.differentiates is not None or op.name.startswith(_TAPE)
