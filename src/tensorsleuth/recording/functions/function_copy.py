"""Makes the watched copy of a function that Python or a dataset calls, and of all that it calls in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_def import Definition, called_functions, is_compiled
from tensorsleuth.recording.functions.function_library import MAX_DEPTH, MAX_NODES, Known, Library, together
from tensorsleuth.recording.functions.probes import Placed, Prober, Probing, Selection, add_call_argument
from tensorsleuth.recording.functions.side_effects import Fate, fate_of
from tensorsleuth.recording.tensorflow import internals as tf


@dataclass(frozen=True, slots=True)
class Watched:
    """A function as it will be run."""

    name: str  # of the copy
    instance: int
    first: int  # its first tensor: that of its first argument
    kind: str  # train, backward, write or plain


@dataclass(frozen=True, slots=True)
class Spot:
    """The place of a function call inside the function that Python calls."""

    parent: int  # instance
    node: int  # in the parent
    path: tuple[str, ...]  # the functions on the way, this one last
    way: tuple[Any, ...]  # the nodes on the way
    compiled: bool = False  # by XLA, with one of its callers
    on_elements: bool = False  # a dataset runs it, so that its arguments are elements and no inputs of the node

    @property
    def is_root(self) -> bool:
        return self.parent < 0

    def inside(self, instance: int, number: int, attribute: str, op: str) -> Spot:
        """That of what a node of this function calls."""
        return replace(
            self, parent=instance, node=number, way=(*self.way, number, attribute), on_elements=ops.is_dataset(op)
        )

    def of(self, name: str, compiled: bool) -> Spot:
        return replace(self, path=(*self.path, name), compiled=self.compiled or compiled)


class Copying:
    """One function that Python calls is being copied, with all that it calls."""

    of_dataset = False  # does a dataset call it

    def __init__(self, library: Library, prober: Prober, selection: Selection) -> None:
        self.library = library
        self.prober = prober
        self.selection = selection

    def root(self, name: str, graph: Any) -> Watched | None:
        return self.copy(name, graph, Spot(-1, -1, (name,), (name,)))

    def copy(self, name: str, graph: Any, spot: Spot) -> Watched | None:
        known = self.library.know(name, graph)
        if known is None or self.refuses(name, known, spot):
            return None
        proto = known.definition.proto
        self.library.nodes += len(proto.node_def)
        instance, first = self.instance(known, spot)
        copy = tf.FunctionDef()
        copy.CopyFrom(proto)
        copy.signature.name = self.copy_name(name, instance, spot)
        placed = Placed(name, known.definition, graph, instance, first, spot.parent, spot.node, self.of_dataset)
        selection = self.selection.in_instance(placed)
        renamed = self.prepare(known.definition, copy, spot)
        called, kinds = self._copy_called(copy, graph, instance, spot)
        holds = self.holds(known.definition, spot)
        probing = Probing(self.library.session, first, selection, self.probed_for(spot), holds, renamed)
        self.put(known.definition, copy, probing, called, spot)
        self.library.copied(spot.path[0], copy)
        return Watched(copy.signature.name, instance, first, together(known.kind, kinds))

    def _copy_called(self, copy: Any, graph: Any, instance: int, spot: Spot) -> tuple[set[int], set[str]]:
        """Copy what the copy calls, and make it call the copies."""
        graphs = dict(tf.inner_graphs(graph)) if graph is not None else {}
        called: set[int] = set()
        kinds: set[str] = set()
        for number, node in enumerate(copy.node_def):
            for attribute, function in called_functions(node):
                inner = self.inner(function.name, node, graphs, spot.inside(instance, number, attribute, node.op))
                if inner is None:
                    kinds.add(self.library.kind(function.name, graphs.get(function.name)))
                    continue
                function.name = inner.name
                kinds.add(inner.kind)
                if node.op in ops.CALLS:
                    called.add(number)
        return called, kinds

    def refuses(self, name: str, known: Known, spot: Spot) -> bool:
        """Does a function have to be run as it is."""
        if is_compiled(known.definition.proto.attr):
            self.not_seen(name)
            return True
        return self.too_much(name, spot)

    def too_much(self, name: str, spot: Spot) -> bool:
        why = None
        if len(spot.path) > MAX_DEPTH:
            why = f"functions are nested more than {MAX_DEPTH} deep"
        elif self.library.nodes > MAX_NODES:
            why = f"more than {MAX_NODES:,} nodes are being watched"
        if why:
            self.library.catalog.not_covered(f"the inside of {name}", why)
            self.selection.refused(name, why)
        return why is not None

    # ---- what differs from one purpose to another

    def copy_name(self, name: str, instance: int, spot: Spot) -> str:
        return f"{name}__sleuth_{self.library.session}_{instance}{'_root' if spot.is_root else ''}"

    def instance(self, known: Known, spot: Spot) -> tuple[int, int]:
        """The ids of the copy and of its first tensor."""
        fields = {"function": known.id, "parent": spot.parent, "node": spot.node}
        return self.library.catalog.instance(fields, known.definition.tensors)

    def prepare(self, definition: Definition, copy: Any, spot: Spot) -> dict[str, str]:
        """Change the copy before its calls are; how its outputs are called then, where that is otherwise."""
        return {}

    def inner(self, name: str, node: Any, graphs: dict[str, Any], spot: Spot) -> Watched | None:
        """The copy of what a node calls; None where it is called as it is."""
        if is_compiled(node.attr):
            self.not_seen(name)
            return None
        return self.copy(name, graphs.get(name), spot.of(name, False))

    def holds(self, definition: Definition, spot: Spot) -> dict[str, int]:
        """The tensors that are kept, and their slots."""
        return {}

    def probed_for(self, spot: Spot) -> str | None:
        """The function that Python calls; None for a dataset's."""
        return spot.path[0]

    def put(self, definition: Definition, copy: Any, probing: Probing, called: set[int], spot: Spot) -> None:
        """Have the copy looked at."""
        self.prober.put(definition, copy, probing, arguments=spot.on_elements, called=called)
        if spot.is_root:
            add_call_argument(copy)
            self.prober.join(copy, self.library.session)

    def not_seen(self, name: str) -> None:
        """A function is compiled by XLA."""
        self.selection.refused(name, "it is compiled by XLA")
        if not self.library.runs_again:
            self.library.catalog.not_covered(f"the inside of {name}", "it is compiled by XLA; no native library")


class Called(Copying):
    """For what Python calls. What may have to be run again keeps what it takes from outside."""

    def __init__(self, library: Library, prober: Prober, selection: Selection, untouched: bool, kept: bool) -> None:
        super().__init__(library, prober, selection)
        self._untouched = untouched
        self._kept = kept

    def holds(self, definition: Definition, spot: Spot) -> dict[str, int]:
        if not self._kept:
            return {}
        holds: dict[str, int] = {}
        for number, node in enumerate(definition.proto.node_def):
            names = list(definition.names(number))
            dtypes = tuple(dtype for _, dtype in names)
            if fate_of(node, dtypes) is Fate.KEEP:
                slot = self.library.slot((*spot.way, number), dtypes)
                holds |= {name: slot + at for at, (name, _) in enumerate(names)}
        return holds

    def put(self, definition: Definition, copy: Any, probing: Probing, called: set[int], spot: Spot) -> None:
        super().put(definition, copy, probing, set() if self._untouched else called, spot)


class InDataset(Copying):
    """For what a dataset calls: its arguments come from the dataset, and no call of Python's belongs to it."""

    of_dataset = True

    def probed_for(self, spot: Spot) -> str | None:
        return None

    def put(self, definition: Definition, copy: Any, probing: Probing, called: set[int], spot: Spot) -> None:
        self.prober.put(definition, copy, probing, arguments=spot.is_root or spot.on_elements, called=called)

    def not_seen(self, name: str) -> None:
        super().not_seen(name)
        self.library.catalog.not_covered(f"the inside of {name}", "it is compiled by XLA, and a dataset calls it")
