"""The purpose of a piece of memory: its kind, op, layer and line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.analyze.memory.buffer_rows import EAGER
from tensorsleuth.analyze.memory.lifetimes import Life, Lives
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.ops.kinds import ARRIVALS, writes_variables
from tensorsleuth.trace.dataflow.observed import uids_of
from tensorsleuth.trace.dataflow.variables import Variables
from tensorsleuth.trace.query.ops import Op

WEIGHTS, GRADIENTS, OPTIMIZER = "weights", "gradients", "optimizer state"
ACTIVATIONS, INPUTS, TEMPORARIES = "activations", "inputs", "temporaries"
KINDS = (WEIGHTS, OPTIMIZER, GRADIENTS, ACTIVATIONS, INPUTS, TEMPORARIES)
_TAPE = "gradient_tape/"


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a piece of memory."""

    name: str  # of the op, or of the variable
    kind: str
    op: str
    dtype: str
    shape: tuple[int, ...] | None
    layer: str | None
    file: str | None
    line: int | None
    tensor: int  # its id
    process: int = 0

    @property
    def place(self) -> str | None:
        return f"{self.file}:{self.line}" if self.file is not None else None


class Labels:
    """Finds them; nothing is looked up before it is asked for."""

    def __init__(self, lives: Lives) -> None:
        self._asked = lives.asked
        self._process = lives.asked.process
        self._catalogue = lives.asked.process.catalogue
        self._kinds: dict[int, str] = {}

    def of(self, life: Life) -> Label:
        row = self._process.buffers[life.row]
        tensor = int(row["tensor"])
        dtype, shape = dtype_of(int(row["dtype"])).name, self._process.shape_of(row)
        if life.variable is not None:
            return self._of_variable(life.variable, dtype, shape, tensor)
        op = self._op(tensor)
        kind = self.kind(life)
        if op is None:
            return Label("?", kind, "?", dtype, shape, None, None, None, tensor, self._asked.number)
        return Label(op.name, kind, op.type, dtype, shape, op.layer, op.file, op.line, tensor, self._asked.number)

    def kind(self, life: Life) -> str:
        """One of KINDS."""
        return self.kinds([life])[0]

    def kinds(self, lives: list[Life]) -> list[str]:
        """Return the kinds of many."""
        rows = self._process.buffers[[life.row for life in lives]]
        columns = rows["tensor"].tolist(), (rows["kind"] == EAGER).tolist(), uids_of(rows).tolist()
        return [self._kind_of(*one) for one in zip(lives, *columns, strict=True)]

    def _kind_of(self, life: Life, tensor: int, eager: bool, uid: int) -> str:
        if life.variable is not None:
            return OPTIMIZER if life.variable in self._optimizers else WEIGHTS
        if tensor not in self._kinds:
            self._kinds[tensor] = self._kind(tensor)
        kind = self._kinds[tensor]
        return ACTIVATIONS if eager and kind == TEMPORARIES and self._is_differentiated(uid) else kind

    def _op(self, tensor: int) -> Op | None:
        described = self._process.tensor(tensor)
        return self._asked.index.of(described) if described is not None else None

    def _kind(self, tensor: int) -> str:
        op = self._op(tensor)
        if op is None:
            return TEMPORARIES
        if op.type in ARRIVALS or self._is_of_dataset(op):
            return INPUTS
        if _is_gradient(op):
            return GRADIENTS
        return ACTIVATIONS if any(map(_is_gradient, self._asked.takers.nodes(tensor))) else TEMPORARIES

    def _is_of_dataset(self, op: Op) -> bool:
        return op.instance in self._catalogue.datasets

    def _is_differentiated(self, uid: int) -> bool:
        """Did a gradient function take an eager tensor."""
        calls = self._asked.moments.calls
        ops = (calls.op(call) for call in calls.consumers(uid))
        return any(op is not None and (op.forward > 0 or op.type.startswith("__backward")) for op in ops)

    # ---- variables

    @cached_property
    def _variables(self) -> Variables:
        return Variables(self._asked.moments)

    def _of_variable(self, handle: int, dtype: str, shape: tuple[int, ...] | None, tensor: int) -> Label:
        name, frame = self._variables.name(handle), self._variables.made_at(handle)
        kind = OPTIMIZER if handle in self._optimizers else WEIGHTS
        file, line = (frame.file, frame.line) if frame is not None else (None, None)
        layer = name.rpartition("/")[0] or None
        return Label(name, kind, "Variable", dtype, shape, layer, file, line, tensor, self._asked.number)

    @cached_property
    def _optimizers(self) -> set[int]:
        """Variables of an optimizer: Keras says so; of others, those that no gradient is taken through."""
        known = {uid for uid, (_, role) in self._catalogue.variables.items() if role == "optimizer"}
        return known | {uid for uid in self._bystanders() if uid not in self._catalogue.variables}

    def _bystanders(self) -> set[int]:
        """Variables that functions which train use, but differentiate nothing of."""
        used: dict[int, bool] = {}
        for instance, function in self._catalogue.running():
            if instance.parent >= 0 or function.kind != "train":
                continue
            for number, captured in function.captures.items():
                uid = captured.get("uid")
                if captured.get("variable") and uid is not None:
                    used[int(uid)] = used.get(int(uid), False) or self._is_trained(instance.first + number)
        return {uid for uid, trained in used.items() if not trained}

    def _is_trained(self, handle: int) -> bool:
        """Does an op that has a gradient take what is read from a variable."""
        reads = [op for op in self._asked.takers.nodes(handle) if not writes_variables(op.type)]
        takers = [taker for op in reads for taker in self._asked.takers.nodes(op.first)]
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
