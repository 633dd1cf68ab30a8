"""The variables that functions use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tensorsleuth.core.ops.kinds import writes_variables
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.process_index import ProcessIndex


@dataclass(frozen=True, slots=True)
class Variable:
    """A `tf.Variable`, with the ops in functions that read and write it."""

    name: str
    shape: tuple[int | None, ...] | None
    trainable: bool
    reads: tuple[Op, ...]
    writes: tuple[Op, ...]


def variables_of(process_index: ProcessIndex) -> Iterator[Variable]:
    """Yield the variables of one process, in the order in which functions first used them."""
    known: dict[tuple[str, Any], tuple[dict[str, Any], dict[Op, None]]] = {}
    for tensor, captured in _captured(process_index):
        _, ops = known.setdefault((str(captured["variable"]), captured.get("uid")), (captured, {}))
        ops.update(dict.fromkeys(process_index.consumers.node_consumers(tensor)))
    names = process_index.process.catalogue.variables
    for (name, uid), (captured, ops) in known.items():
        writes = tuple(op for op in ops if writes_variables(op.type))
        reads = tuple(op for op in ops if not writes_variables(op.type))
        name = names[uid][0] if uid in names else name
        yield Variable(name, _shape(captured.get("shape")), bool(captured.get("trainable")), reads, writes)


def _captured(process_index: ProcessIndex) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the captures of functions that Python calls: the tensor id in the function, and the variable."""
    catalogue = process_index.process.catalogue
    for instance in catalogue.instances.values():
        function = catalogue.functions.get(instance.function)
        if function is not None and instance.parent < 0:
            for number, captured in function.captures.items():
                if captured.get("variable"):
                    yield instance.first_tensor + number, captured


def _shape(dims: Any) -> tuple[int | None, ...] | None:
    return tuple(dims) if isinstance(dims, list) else None
