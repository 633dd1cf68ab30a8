"""Makes copies that stay compiled and return their inner tensors, for calls that go bad only when compiled.

XLA allows no probes, but it computes every result that a function returns. So the copy returns each inner tensor as an
additional result, and a probe outside checks it. All tensors together may exceed the memory, so several copies return
a part each.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_copy import CallPosition, WatchedCopy
from tensorsleuth.recording.functions.function_def import MUST_COMPILE, Definition, is_compiled
from tensorsleuth.recording.functions.function_library import CataloguedFunction, FunctionLibrary
from tensorsleuth.recording.functions.probes import (
    ProbeContext,
    Prober,
    Selection,
    add_call_argument,
    keep_alive,
    probe_candidates,
    set_probe_attributes,
    used_tensors,
)
from tensorsleuth.recording.replay.replay_copy import ReplayCopier
from tensorsleuth.recording.tensorflow import internals as tf

MAX_PARTS = 8
ASSUMED_DIMENSION = 128  # the size to assume for an unknown dimension


@dataclass(frozen=True)
class ExportedTensor:
    """A tensor that a compiled function returns as an additional result."""

    tensor: int  # its id in the catalogue
    dtype: int
    bytes: int


class ExportCopier(ReplayCopier):
    """Makes the copies of one function that Python calls."""

    def __init__(
        self,
        function_library: FunctionLibrary,
        prober: Prober,
        selection: Selection,
        lock: threading.RLock,
        name: str,
        find: Callable[[], Any],
    ) -> None:
        super().__init__(function_library, prober, Selection(replace(selection.settings, mode=Mode.FULL_NUMERICS)))
        self._lock = lock
        self._name = name
        self._find = find
        self._part: set[int] | None = None  # the ids of the tensors to return; None for all
        self._number = 0
        self._instances: dict[tuple[Any, ...], tuple[int, int]] = {}
        self._exports: dict[str, list[ExportedTensor]] = {}  # by the name of the copy
        self._graph: Any = None

    def parts(self, room: int) -> Iterator[WatchedCopy]:
        """Yield copies that together return all tensors, each at most `room` bytes."""
        graph = self._find()
        with self._lock:
            whole = self.copy_root(self._name, graph)
        if whole is None:
            return
        everything = self._exports[self._key]
        if sum(export.bytes for export in everything) <= room:
            yield whole
            return
        for part in _groups_that_fit(everything, room)[:MAX_PARTS]:
            self._part, self._number = part, self._number + 1
            with self._lock:
                watched = self.copy_root(self._name, graph)
            if watched is not None:
                yield watched

    @property
    def _key(self) -> str:
        return f"all of {self._name} {self._number}"

    def copy_root(self, name: str, graph: Any) -> WatchedCopy | None:
        self._exports[self._key] = []
        watched = super().copy_root(name, graph)
        known = self.library.find_function(name, graph)
        if watched is None or known is None or not is_compiled(known.definition.proto.attr):
            return watched
        return replace(watched, name=self._make_caller(known.definition, watched))

    def copy(self, name: str, graph: Any, call_position: CallPosition) -> WatchedCopy | None:
        before, self._graph = self._graph, graph
        try:
            return super().copy(name, graph, call_position)
        finally:
            self._graph = before

    def copy_name(self, name: str, instance: int, call_position: CallPosition) -> str:
        return f"{super().copy_name(name, instance, call_position)}_part{self._number}"

    def instance(self, catalogued_function: CataloguedFunction, call_position: CallPosition) -> tuple[int, int]:
        if call_position.way not in self._instances:
            self._instances[call_position.way] = super().instance(catalogued_function, call_position)
        return self._instances[call_position.way]

    def prepare(self, definition: Definition, copy: Any, call_position: CallPosition) -> dict[str, str]:
        return (
            {} if _is_in_compiled(copy, call_position) else self.replace_side_effects(definition, copy, call_position)
        )

    def inner(self, name: str, node: Any, graphs: dict[str, Any], call_position: CallPosition) -> WatchedCopy | None:
        compiled = call_position.compiled or is_compiled(node.attr)
        if compiled and node.op not in ops.CALLS:
            return None  # a loop cannot return the tensors of its iterations
        watched = self.copy(name, graphs.get(name), call_position.entering(name, compiled))
        if watched is not None:
            node.attr["Tout"].list.type.extend(export.dtype for export in self._exports.get(watched.name, ()))
        return watched

    def add_probes(
        self,
        definition: Definition,
        copy: Any,
        probe_context: ProbeContext,
        called: set[int],
        call_position: CallPosition,
    ) -> None:
        arrived = list(self._inner_exports(copy, called))
        if _is_in_compiled(copy, call_position):
            own = self._own_exports(definition, copy, probe_context, called, call_position)
            self._return_exports(copy, [*own, *arrived])
            return
        super().add_probes(definition, copy, probe_context, called, call_position)
        self._look_at(copy, arrived, probe_context)

    def _inner_exports(self, copy: Any, called: set[int]) -> Iterator[tuple[str, ExportedTensor]]:
        """Yield the additional results of the functions that a copy calls."""
        for number in called:
            node = copy.node_def[number]
            exports = self._exports.get(node.attr["f"].func.name, [])
            first = len(node.attr["Tout"].list.type) - len(exports)
            for at, export in enumerate(exports):
                yield f"{node.name}:output:{first + at}", export

    def _own_exports(
        self,
        definition: Definition,
        copy: Any,
        probe_context: ProbeContext,
        called: set[int],
        call_position: CallPosition,
    ) -> Iterator[tuple[str, ExportedTensor]]:
        used, look_at = used_tensors(copy), probe_context.selection.for_function(definition)
        for tensor, source, op, dtype, _ in probe_candidates(definition, call_position.is_root, called):
            opaque = op in ops.CONTROL_FLOW and probe_context.selection.mode_for(op, dtype) is not None
            number = probe_context.first + tensor
            wanted = opaque or look_at(op, dtype, source) is not None
            if wanted and (source in used or op == "Argument") and (self._part is None or number in self._part):
                yield source, ExportedTensor(number, dtype, self._bytes(source, dtype))

    def _return_exports(self, copy: Any, tensors: list[tuple[str, ExportedTensor]]) -> None:
        for source, export in tensors:
            name = f"sleuth_{export.tensor}"
            copy.signature.output_arg.add(name=name, type=export.dtype)
            copy.ret[name] = source
        self._exports[copy.signature.name] = [export for _, export in tensors]

    def _look_at(self, copy: Any, tensors: list[tuple[str, ExportedTensor]], probe_context: ProbeContext) -> None:
        """Put a probe behind each tensor that the copy returns."""
        for source, export in tensors:
            node = copy.node_def.add(name=f"sleuth/{export.tensor}", op="SleuthProbe", input=[source])
            node.attr["T"].type = export.dtype
            set_probe_attributes(
                node, export.tensor - probe_context.first, export.dtype, Mode.FULL_NUMERICS, probe_context
            )
            keep_alive(copy, node.name)
        self._exports[self._key] += [export for _, export in tensors]

    def _make_caller(self, definition: Definition, watched_copy: WatchedCopy) -> str:
        """Return the name of an uncompiled function that calls the compiled copy of the root."""
        caller = tf.FunctionDef()
        caller.signature.CopyFrom(definition.proto.signature)
        caller.signature.name = f"{watched_copy.name}_caller"
        call = caller.node_def.add(name="call", op="StatefulPartitionedCall")
        call.attr["f"].func.name = watched_copy.name
        call.attr[MUST_COMPILE].b = True
        for argument in definition.proto.signature.input_arg:
            call.input.append(argument.name)
            call.attr["Tin"].list.type.append(argument.type)
        for number, output in enumerate(definition.proto.signature.output_arg):
            call.attr["Tout"].list.type.append(output.type)
            caller.ret[output.name] = f"call:output:{number}"
        exports = self._exports[watched_copy.name]
        first = len(definition.proto.signature.output_arg)
        call.attr["Tout"].list.type.extend(export.dtype for export in exports)
        del caller.signature.control_output[:]
        arrived = [(f"call:output:{first + at}", export) for at, export in enumerate(exports)]
        self._look_at(caller, arrived, ProbeContext(self.library.session, 0, self.selection, self._name))
        add_call_argument(caller)
        self.prober.fallback().join(caller, self.library.session)
        self.library.add_copy(self._name, caller)
        return str(caller.signature.name)

    def _bytes(self, source: str, dtype: int) -> int:
        """Estimate the bytes of a tensor from its shape, which may be partly unknown."""
        node, _, *rest = f"{source}:x:0".split(":")
        try:
            shape = self._graph.get_operation_by_name(node).outputs[int(rest[0])].shape
            dims = shape.as_list() if shape.rank is not None else [ASSUMED_DIMENSION] * 2
        except (AttributeError, KeyError, ValueError, IndexError):
            dims = [ASSUMED_DIMENSION] * 2
        return dtype_of(dtype).itemsize * math.prod(ASSUMED_DIMENSION if dim is None else dim for dim in dims)


def _is_in_compiled(copy: Any, call_position: CallPosition) -> bool:
    """Return whether a function is compiled, alone or with its caller."""
    return call_position.compiled or is_compiled(copy.attr)


def _groups_that_fit(exported_tensors: list[ExportedTensor], room: int) -> list[set[int]]:
    """Split tensors into groups that each fit into the memory."""
    parts: list[set[int]] = [set()]
    free = room
    for export in exported_tensors:
        if export.bytes > free and parts[-1]:
            parts.append(set())
            free = room
        parts[-1].add(export.tensor)
        free -= export.bytes
    return parts
