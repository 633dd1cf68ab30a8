"""Makes copies that stay compiled and hand out what is computed in them: for a call that goes bad only when compiled.

XLA takes no probes, but returns what it is told to: each tensor of a compiled function becomes one more of its results,
and is looked at where it arrives. There may be more of them than fit into memory at a time, so this is done in parts.
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
from tensorsleuth.recording.functions.function_copy import Spot, Watched
from tensorsleuth.recording.functions.function_def import MUST_COMPILE, Definition, is_compiled
from tensorsleuth.recording.functions.function_library import Known, Library
from tensorsleuth.recording.functions.probes import (
    Prober,
    Probing,
    Selection,
    add_call_argument,
    candidates,
    identify,
    keep,
    used_tensors,
)
from tensorsleuth.recording.replay.replay_copy import Again
from tensorsleuth.recording.tensorflow import internals as tf

MOST_PARTS = 8
UNKNOWN_SIZE = 128  # taken for a dimension that is not known before it runs


@dataclass(frozen=True)
class Export:
    """A tensor that a compiled function hands out."""

    tensor: int  # its id in the catalogue
    dtype: int
    bytes: int


class Exporting(Again):
    """The copies of one function that Python calls."""

    def __init__(
        self,
        library: Library,
        prober: Prober,
        selection: Selection,
        lock: threading.RLock,
        name: str,
        find: Callable[[], Any],
    ) -> None:
        super().__init__(library, prober, Selection(replace(selection.settings, mode=Mode.FULL_NUMERICS)))
        self._lock = lock
        self._name = name
        self._find = find
        self._part: set[int] | None = None  # ids of the tensors that are handed out; None: all
        self._number = 0
        self._instances: dict[tuple[Any, ...], tuple[int, int]] = {}
        self._exports: dict[str, list[Export]] = {}  # by the name of the copy
        self._graph: Any = None

    def parts(self, room: int) -> Iterator[Watched]:
        """Copies which together hand out everything, each no more than `room` bytes."""
        graph = self._find()
        with self._lock:
            whole = self.root(self._name, graph)
        if whole is None:
            return
        everything = self._exports[self._key]
        if sum(export.bytes for export in everything) <= room:
            yield whole
            return
        for part in _parts(everything, room)[:MOST_PARTS]:
            self._part, self._number = part, self._number + 1
            with self._lock:
                watched = self.root(self._name, graph)
            if watched is not None:
                yield watched

    @property
    def _key(self) -> str:
        return f"all of {self._name} {self._number}"

    def root(self, name: str, graph: Any) -> Watched | None:
        self._exports[self._key] = []
        watched = super().root(name, graph)
        known = self.library.know(name, graph)
        if watched is None or known is None or not is_compiled(known.definition.proto.attr):
            return watched
        return replace(watched, name=self._called_by(known.definition, watched))

    def copy(self, name: str, graph: Any, spot: Spot) -> Watched | None:
        before, self._graph = self._graph, graph
        try:
            return super().copy(name, graph, spot)
        finally:
            self._graph = before

    def copy_name(self, name: str, instance: int, spot: Spot) -> str:
        return f"{super().copy_name(name, instance, spot)}_part{self._number}"

    def instance(self, known: Known, spot: Spot) -> tuple[int, int]:
        if spot.way not in self._instances:
            self._instances[spot.way] = super().instance(known, spot)
        return self._instances[spot.way]

    def prepare(self, definition: Definition, copy: Any, spot: Spot) -> dict[str, str]:
        return {} if _inside(copy, spot) else self.stand_in(definition, copy, spot)

    def inner(self, name: str, node: Any, graphs: dict[str, Any], spot: Spot) -> Watched | None:
        compiled = spot.compiled or is_compiled(node.attr)
        if compiled and node.op not in ops.CALLS:
            return None  # what a loop computes cannot be handed out of it
        watched = self.copy(name, graphs.get(name), spot.of(name, compiled))
        if watched is not None:
            node.attr["Tout"].list.type.extend(export.dtype for export in self._exports.get(watched.name, ()))
        return watched

    def put(self, definition: Definition, copy: Any, probing: Probing, called: set[int], spot: Spot) -> None:
        arrived = list(self._arrived(copy, called))
        if _inside(copy, spot):
            own = self._own(definition, copy, probing, called, spot)
            self._hand_out(copy, [*own, *arrived])
            return
        super().put(definition, copy, probing, called, spot)
        self._look_at(copy, arrived, probing)

    def _arrived(self, copy: Any, called: set[int]) -> Iterator[tuple[str, Export]]:
        """Return the outputs that a copy gets from the functions that it calls."""
        for number in called:
            node = copy.node_def[number]
            exports = self._exports.get(node.attr["f"].func.name, [])
            first = len(node.attr["Tout"].list.type) - len(exports)
            for at, export in enumerate(exports):
                yield f"{node.name}:output:{first + at}", export

    def _own(
        self, definition: Definition, copy: Any, probing: Probing, called: set[int], spot: Spot
    ) -> Iterator[tuple[str, Export]]:
        used, look_at = used_tensors(copy), probing.selection.in_function(definition)
        for tensor, source, op, dtype, _ in candidates(definition, spot.is_root, called):
            opaque = op in ops.CONTROL_FLOW and probing.selection.look(op, dtype) is not None
            number = probing.first + tensor
            wanted = opaque or look_at(op, dtype, source) is not None
            if wanted and (source in used or op == "Argument") and (self._part is None or number in self._part):
                yield source, Export(number, dtype, self._bytes(source, dtype))

    def _hand_out(self, copy: Any, tensors: list[tuple[str, Export]]) -> None:
        for source, export in tensors:
            name = f"sleuth_{export.tensor}"
            copy.signature.output_arg.add(name=name, type=export.dtype)
            copy.ret[name] = source
        self._exports[copy.signature.name] = [export for _, export in tensors]

    def _look_at(self, copy: Any, tensors: list[tuple[str, Export]], probing: Probing) -> None:
        """Put a probe behind each tensor that was handed out."""
        for source, export in tensors:
            node = copy.node_def.add(name=f"sleuth/{export.tensor}", op="SleuthProbe", input=[source])
            node.attr["T"].type = export.dtype
            identify(node, export.tensor - probing.first, export.dtype, Mode.FULL_NUMERICS, probing)
            keep(copy, node.name)
        self._exports[self._key] += [export for _, export in tensors]

    def _called_by(self, definition: Definition, watched: Watched) -> str:
        """The name of a function that is not compiled, and calls the compiled copy of the root."""
        caller = tf.FunctionDef()
        caller.signature.CopyFrom(definition.proto.signature)
        caller.signature.name = f"{watched.name}_caller"
        call = caller.node_def.add(name="call", op="StatefulPartitionedCall")
        call.attr["f"].func.name = watched.name
        call.attr[MUST_COMPILE].b = True
        for argument in definition.proto.signature.input_arg:
            call.input.append(argument.name)
            call.attr["Tin"].list.type.append(argument.type)
        for number, output in enumerate(definition.proto.signature.output_arg):
            call.attr["Tout"].list.type.append(output.type)
            caller.ret[output.name] = f"call:output:{number}"
        exports = self._exports[watched.name]
        first = len(definition.proto.signature.output_arg)
        call.attr["Tout"].list.type.extend(export.dtype for export in exports)
        del caller.signature.control_output[:]
        arrived = [(f"call:output:{first + at}", export) for at, export in enumerate(exports)]
        self._look_at(caller, arrived, Probing(self.library.session, 0, self.selection, self._name))
        add_call_argument(caller)
        self.prober.otherwise().join(caller, self.library.session)
        self.library.copied(self._name, caller)
        return str(caller.signature.name)

    def _bytes(self, source: str, dtype: int) -> int:
        """About how much memory a tensor takes, from what is known of its shape."""
        node, _, *rest = f"{source}:x:0".split(":")
        try:
            shape = self._graph.get_operation_by_name(node).outputs[int(rest[0])].shape
            dims = shape.as_list() if shape.rank is not None else [UNKNOWN_SIZE] * 2
        except (AttributeError, KeyError, ValueError, IndexError):
            dims = [UNKNOWN_SIZE] * 2
        return dtype_of(dtype).itemsize * math.prod(UNKNOWN_SIZE if dim is None else dim for dim in dims)


def _inside(copy: Any, spot: Spot) -> bool:
    """Return whether a function is compiled, by itself or with its caller."""
    return spot.compiled or is_compiled(copy.attr)


def _parts(exports: list[Export], room: int) -> list[set[int]]:
    """Tensors in groups that fit."""
    parts: list[set[int]] = [set()]
    free = room
    for export in exports:
        if export.bytes > free and parts[-1]:
            parts.append(set())
            free = room
        parts[-1].add(export.tensor)
        free -= export.bytes
    return parts
