"""Makes the watched copy of a function that Python or a dataset calls, and of all functions that it calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_def import Definition, called_functions, is_compiled
from tensorsleuth.recording.functions.function_library import (
    MAX_DEPTH,
    MAX_WATCHED_NODES,
    CataloguedFunction,
    FunctionLibrary,
    combined_kind,
)
from tensorsleuth.recording.functions.probes import FunctionInstance, ProbeContext, Prober, Selection, add_call_argument
from tensorsleuth.recording.functions.side_effects import ReplayPolicy, replay_policy
from tensorsleuth.recording.tensorflow import internals as tf


@dataclass(frozen=True, slots=True)
class WatchedCopy:
    """The watched copy of a function."""

    name: str  # of the copy
    instance: int
    first: int  # the id of its first tensor, which is its first argument
    kind: str  # train, backward, write or plain


@dataclass(frozen=True, slots=True)
class CallPosition:
    """The place of a function call inside the function that Python calls."""

    parent: int  # instance
    node: int  # the calling node in the parent
    path: tuple[str, ...]  # the functions from the root to this one
    way: tuple[Any, ...]  # the nodes from the root to this call
    compiled: bool = False  # XLA compiles it, with one of its callers
    on_elements: bool = False  # a dataset runs it, so its arguments are elements and not inputs of the node

    @property
    def is_root(self) -> bool:
        return self.parent < 0

    def at_node(self, instance: int, number: int, attribute: str, op: str) -> CallPosition:
        """Return the position of a function that a node of this function calls."""
        return replace(
            self, parent=instance, node=number, way=(*self.way, number, attribute), on_elements=ops.is_dataset(op)
        )

    def entering(self, name: str, compiled: bool) -> CallPosition:
        return replace(self, path=(*self.path, name), compiled=self.compiled or compiled)


class FunctionCopier:
    """Copies one function that Python calls, together with all functions that it calls."""

    of_dataset = False  # whether a dataset calls it

    def __init__(self, function_library: FunctionLibrary, prober: Prober, selection: Selection) -> None:
        self.library = function_library
        self.prober = prober
        self.selection = selection

    def copy_root(self, name: str, graph: Any) -> WatchedCopy | None:
        return self.copy(name, graph, CallPosition(-1, -1, (name,), (name,)))

    def copy(self, name: str, graph: Any, call_position: CallPosition) -> WatchedCopy | None:
        known = self.library.find_function(name, graph)
        if known is None or self.refuses(name, known, call_position):
            return None
        proto = known.definition.proto
        self.library.nodes += len(proto.node_def)
        instance, first = self.instance(known, call_position)
        copy = tf.FunctionDef()
        copy.CopyFrom(proto)
        copy.signature.name = self.copy_name(name, instance, call_position)
        function_instance = FunctionInstance(
            name, known.definition, graph, instance, first, call_position.parent, call_position.node, self.of_dataset
        )
        selection = self.selection.for_instance(function_instance)
        renamed = self.prepare(known.definition, copy, call_position)
        called, kinds = self._copy_called(copy, graph, instance, call_position)
        holds = self.slots_to_keep(known.definition, call_position)
        probe_context = ProbeContext(
            self.library.session, first, selection, self.probed_for(call_position), holds, renamed
        )
        self.add_probes(known.definition, copy, probe_context, called, call_position)
        self.library.add_copy(call_position.path[0], copy)
        return WatchedCopy(copy.signature.name, instance, first, combined_kind(known.kind, kinds))

    def _copy_called(
        self, copy: Any, graph: Any, instance: int, call_position: CallPosition
    ) -> tuple[set[int], set[str]]:
        """Copy the functions that the copy calls, and make it call these copies."""
        graphs = dict(tf.inner_graphs(graph)) if graph is not None else {}
        called: set[int] = set()
        kinds: set[str] = set()
        for number, node in enumerate(copy.node_def):
            for attribute, function in called_functions(node):
                inner = self.inner(
                    function.name, node, graphs, call_position.at_node(instance, number, attribute, node.op)
                )
                if inner is None:
                    kinds.add(self.library.kind(function.name, graphs.get(function.name)))
                    continue
                function.name = inner.name
                kinds.add(inner.kind)
                if node.op in ops.CALLS:
                    called.add(number)
        return called, kinds

    def refuses(self, name: str, catalogued_function: CataloguedFunction, call_position: CallPosition) -> bool:
        """Return whether a function must run unchanged."""
        if is_compiled(catalogued_function.definition.proto.attr):
            self.note_unseen(name)
            return True
        return self.exceeds_limits(name, call_position)

    def exceeds_limits(self, name: str, call_position: CallPosition) -> bool:
        why = None
        if len(call_position.path) > MAX_DEPTH:
            why = f"functions are nested more than {MAX_DEPTH} deep"
        elif self.library.nodes > MAX_WATCHED_NODES:
            why = f"more than {MAX_WATCHED_NODES:,} nodes are being watched"
        if why:
            self.library.note_unseen_inside(name, why)
            self.selection.note_refused(name, why)
        return why is not None

    # ---- differences between the kinds of copies

    def copy_name(self, name: str, instance: int, call_position: CallPosition) -> str:
        return f"{name}__sleuth_{self.library.session}_{instance}{'_root' if call_position.is_root else ''}"

    def instance(self, catalogued_function: CataloguedFunction, call_position: CallPosition) -> tuple[int, int]:
        """Return the ids of the copy and of its first tensor."""
        fields = {"function": catalogued_function.id, "parent": call_position.parent, "node": call_position.node}
        return self.library.catalog.instance(fields, catalogued_function.definition.tensors)

    def prepare(self, definition: Definition, copy: Any, call_position: CallPosition) -> dict[str, str]:
        """Change the copy before its calls are copied. Return the outputs that got a new name."""
        return {}

    def inner(self, name: str, node: Any, graphs: dict[str, Any], call_position: CallPosition) -> WatchedCopy | None:
        """Return the copy of a function that a node calls, or None to call the original."""
        if is_compiled(node.attr):
            self.note_unseen(name)
            return None
        return self.copy(name, graphs.get(name), call_position.entering(name, False))

    def slots_to_keep(self, definition: Definition, call_position: CallPosition) -> dict[str, int]:
        """Return the tensors to keep for a replay, with their slots."""
        return {}

    def probed_for(self, call_position: CallPosition) -> str | None:
        """Return the function whose running call the probes belong to; None if a dataset calls it."""
        return call_position.path[0]

    def add_probes(
        self,
        definition: Definition,
        copy: Any,
        probe_context: ProbeContext,
        called: set[int],
        call_position: CallPosition,
    ) -> None:
        """Add probes to the copy."""
        self.prober.add_probes(definition, copy, probe_context, arguments=call_position.on_elements, called=called)
        if call_position.is_root:
            add_call_argument(copy)
            self.prober.join(copy, self.library.session)

    def note_unseen(self, name: str) -> None:
        """List a function that XLA compiles as not covered."""
        self.selection.note_refused(name, "it is compiled by XLA")
        if not self.library.can_replay:
            self.library.note_unseen_inside(name, "it is compiled by XLA; no native library")


class CallCopier(FunctionCopier):
    """Copies functions that Python calls. If a call may be replayed, the copy keeps its outside inputs."""

    def __init__(
        self, function_library: FunctionLibrary, prober: Prober, selection: Selection, untouched: bool, kept: bool
    ) -> None:
        super().__init__(function_library, prober, selection)
        self._untouched = untouched
        self._kept = kept

    def slots_to_keep(self, definition: Definition, call_position: CallPosition) -> dict[str, int]:
        if not self._kept:
            return {}
        holds: dict[str, int] = {}
        for number, node in enumerate(definition.proto.node_def):
            names = list(definition.output_names(number))
            dtypes = tuple(dtype for _, dtype in names)
            if replay_policy(node, dtypes) is ReplayPolicy.KEEP:
                slot = self.library.slot((*call_position.way, number), dtypes)
                holds |= {name: slot + at for at, (name, _) in enumerate(names)}
        return holds

    def add_probes(
        self,
        definition: Definition,
        copy: Any,
        probe_context: ProbeContext,
        called: set[int],
        call_position: CallPosition,
    ) -> None:
        super().add_probes(definition, copy, probe_context, set() if self._untouched else called, call_position)


class DatasetCopier(FunctionCopier):
    """Copies functions that a dataset calls: the dataset passes the arguments, and no Python call contains them."""

    of_dataset = True

    def probed_for(self, call_position: CallPosition) -> str | None:
        return None

    def add_probes(
        self,
        definition: Definition,
        copy: Any,
        probe_context: ProbeContext,
        called: set[int],
        call_position: CallPosition,
    ) -> None:
        self.prober.add_probes(
            definition, copy, probe_context, arguments=call_position.is_root or call_position.on_elements, called=called
        )

    def note_unseen(self, name: str) -> None:
        super().note_unseen(name)
        self.library.note_unseen_inside(name, "it is compiled by XLA, and a dataset calls it")
