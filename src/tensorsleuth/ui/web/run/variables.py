"""The tensors that hold the value of a variable."""

from __future__ import annotations

from functools import cached_property

from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.trace.dataflow.observed_tensor import uid_of
from tensorsleuth.trace.dataflow.variables import VariableIndex
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.process_index import ProcessIndex
from tensorsleuth.trace.query.query import process_indexes
from tensorsleuth.trace.query.tensor_event import TensorEvent
from tensorsleuth.trace.reader import Trace

HANDLES = ("VarHandleOp",)


class VariableLookup:
    """Names of variables, by the ops in functions that read them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def _names(self) -> dict[tuple[int, int], str]:
        return {
            (op.process, op.first_tensor): name for one in process_indexes(self._trace) for op, name in _read_in(one)
        }

    def name_of(self, event: TensorEvent) -> str | None:
        """Return the variable that a tensor was read from or is the handle of, or None."""
        if event.op.type in HANDLES and event.row is not None and event.op.eager >= 0:
            return self._handles[event.op.process].name(uid_of(event.row))
        return self._names.get((event.op.process, event.op.first_tensor)) if event.op.type in VARIABLE_READS else None

    @cached_property
    def _handles(self) -> list[VariableIndex]:
        return [VariableIndex(one.call_graphs) for one in process_indexes(self._trace)]


def _read_in(process_index: ProcessIndex) -> list[tuple[Op, str]]:
    """Yield the ops that read a variable captured by a function, with its name."""
    catalogue, found = process_index.process.catalogue, list[tuple[Op, str]]()
    for instance, function in catalogue.called_functions():
        for number, node in enumerate(function.nodes):
            op = process_index.op_index.node(instance.id, number) if node.type in VARIABLE_READS else None
            sources = process_index.call_graphs.flow.input_sources(instance, number) if op is not None else []
            for source in sources[0] if sources else []:
                name = _captured(process_index, source.tensor)
                if op is not None and name is not None:
                    found.append((op, name))
    return found


def _captured(process_index: ProcessIndex, tensor: int) -> str | None:
    """Return the name of the variable whose handle a tensor is: an argument of the function that Python called."""
    catalogue = process_index.process.catalogue
    described = process_index.process.tensor(tensor)
    instance = described.instance if described is not None else None
    function = described.function if described is not None else None
    if instance is None or function is None:
        return None
    captured = function.captures.get(tensor - instance.first_tensor, {})
    named = catalogue.variables.get(captured.get("uid"))  # type: ignore[arg-type]
    name = named[0] if named is not None else captured.get("variable")
    return str(name).removesuffix(":0") if name else None
