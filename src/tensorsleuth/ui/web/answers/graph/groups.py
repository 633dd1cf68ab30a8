"""Groups of ops: the functions that contain them, one for each call site, and their layers."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.core.catalog import Instance
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.ops.kinds import BRANCHES, LOOPS
from tensorsleuth.trace.query.ops import ARGUMENT, Op
from tensorsleuth.ui.web.run.tensor_table import TensorTable

MAX_NESTING = 100


@dataclass(frozen=True)
class OpGroup:
    """A function at one call site, a loop, a branch, or a layer inside one of these."""

    id: str
    name: str
    kind: str
    parent: str | None


class OpGroups:
    """The groups of a run's ops, by id. An id has only letters, digits and dots."""

    def __init__(self, tensor_table: TensorTable) -> None:
        self._table = tensor_table
        self.all: dict[str, OpGroup] = {}
        self._layers: dict[tuple[int, int, str], str] = {}

    def of_op(self, op: Op) -> list[str]:
        """Return the groups of an op, outermost first."""
        around = self._functions(op.process, op.instance) if op.eager < 0 else []
        if op.layer is None or op.type == ARGUMENT:
            return around
        return [*around, self._layer(op, around[-1] if around else None)]

    def _functions(self, process: int, instance: int) -> list[str]:
        catalogue, found = self._table.process_indexes[process].process.catalogue, list[str]()
        chain: list[Instance] = []
        one = catalogue.instances.get(instance)
        while one is not None and len(chain) < MAX_NESTING:
            chain.append(one)
            one = catalogue.instances.get(one.parent)
        for one in reversed(chain):
            id = f"f{process}.{one.id}"
            if id not in self.all:
                name, kind = self._described(process, one.id)
                self.all[id] = OpGroup(id, name, kind, found[-1] if found else None)
            found.append(id)
        return found

    def _described(self, process: int, number: int) -> tuple[str, str]:
        """Return the name of a function, and the kind of its call."""
        catalogue = self._table.process_indexes[process].process.catalogue
        instance = catalogue.instances[number]
        function, parent = catalogue.functions[instance.function], catalogue.instances.get(instance.parent)
        if parent is None:
            return plain_name(function.name), "function"
        caller = catalogue.functions[parent.function].nodes[instance.node]
        if caller.type in LOOPS:
            return caller.name, "loop"
        return (plain_name(function.name), "branch" if caller.type in BRANCHES else "function")

    def _layer(self, op: Op, parent: str | None) -> str:
        key = op.process, op.instance if op.eager < 0 else -1, op.layer or ""
        if key not in self._layers:
            id = self._layers[key] = f"l{op.process}.{key[1] if key[1] >= 0 else 'e'}.{_digest(key[2])}"
            self.all[id] = OpGroup(id, op.layer or "", "layer", parent)
        return self._layers[key]

    @cached_property
    def sizes(self) -> Counter[str]:
        """Return the number of ops in each group, including nested groups."""
        return Counter(group for op in self._table.ops if op.type != ARGUMENT for group in self.of_op(op))


def _digest(layer: str) -> str:
    """Return a short id that stays the same in every session: addresses that people share contain it."""
    return hashlib.blake2s(layer.encode("utf-8", "replace"), digest_size=6).hexdigest()


def plain_name(function: str) -> str:
    """Return the program's name of a traced function, without what TensorFlow adds."""
    name = program_name(function)
    return f"gradient of {name}" if "__backward_" in function else name
