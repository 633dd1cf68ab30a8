"""Layer statistics of a function: selected when it is put in place."""

from __future__ import annotations

from typing import Any

from tensorsleuth.live.layer_stats.inputs import Found, batches
from tensorsleuth.live.layer_stats.series import InsideBook, InsideEntry, Look
from tensorsleuth.native import loader
from tensorsleuth.recording.call_sites import is_user
from tensorsleuth.recording.functions.descriptions import made_op
from tensorsleuth.recording.functions.function_def import is_compiled
from tensorsleuth.recording.functions.probes import Placed
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.structure.attention import find_attention
from tensorsleuth.recording.structure.layer_outputs import find_outputs
from tensorsleuth.recording.structure.tensor_roles import Family, Subjects

FORWARD = "__forward_"  # how TensorFlow names a function that a tape outside differentiates


class InsideFunctions:
    """Gives the tensors of functions to series."""

    def __init__(
        self, recorder: Recorder, native: loader.Native, book: InsideBook, subjects: Subjects, by: str | None = None
    ) -> None:
        self._recorder = recorder
        self._native = native
        self._book = book
        self._subjects = subjects
        self._by = by
        self._trains: dict[int, bool] = {}  # by instance
        self._compiled: dict[int, bool] = {}

    def placed(self, placed: Placed) -> frozenset[str]:
        """The tensors of a function that are looked at, now that it has its numbers."""
        family = self._subjects.family(placed)
        trains = self._trains[placed.instance] = self._does_train(placed)
        if placed.of_dataset or (self._by is not None and not self._is_compiled(placed)):
            return frozenset()
        made = {op.name: op for op in placed.graph.get_operations()} if placed.graph is not None else {}
        found: dict[str, InsideEntry | None] = {}  # a tensor is one thing only: the first of these
        kinds = self._attention, self._outputs, self._gradients
        for source, entry in (one for kind in kinds for one in kind(placed, family, made, trains)):
            found.setdefault(source, entry)
        found |= dict(batches(placed, self._book, trains) if self._by is None else ())
        numbers = _numbers(placed)
        for source, entry in found.items():
            if entry is not None:
                self._native.inside_on(placed.first + numbers[source], entry.series.number)
        return frozenset(source for source, entry in found.items() if entry is not None)

    def _does_train(self, placed: Placed) -> bool:
        if placed.parent in self._trains:
            return self._trains[placed.parent]
        return (
            placed.name.startswith(FORWARD)
            or self._recorder.functions.kind(placed.name, lambda: placed.graph) == "train"
        )

    def _is_compiled(self, placed: Placed) -> bool:
        """Does XLA compile a function, by itself or with one of its callers."""
        caller = self._subjects.caller(placed)
        inner = is_compiled(placed.definition.proto.attr) or (caller is not None and is_compiled(caller.attr))
        found = self._compiled[placed.instance] = inner or self._compiled.get(placed.parent, False)
        return found

    def _attention(self, placed: Placed, family: Family, made: dict[str, Any], trains: bool) -> Found:
        seen: dict[str, int] = {}
        for one in find_attention(placed.definition, family.around, self._recorder.scopes.known(placed.graph)):
            again = seen[one.name] = seen.get(one.name, -1) + 1
            name = f"{one.name}:{again}" if again else one.name
            node = placed.definition.proto.node_def[one.node]
            op = made_op(made, node)
            place = line_of(self._recorder, self._recorder.sites.of_graph_op(op) if op is not None else 0)
            about = {"trains": trains, "place": place, "op": node.name, "by": self._by, "axis": one.row_axis}
            yield _first(placed, one.node), self._book.find("attention", name, Look.ATTENTION, **about)

    def _outputs(self, placed: Placed, family: Family, made: dict[str, Any], trains: bool) -> Found:
        order = {name: number for number, name in enumerate(made)}
        called = self._recorder.scopes.known(placed.graph)
        found = find_outputs(placed.definition, family.around, called, lambda name: _is_scalar(made.get(name)))
        nodes = placed.definition.proto.node_def
        for one in sorted(found, key=lambda one: order.get(nodes[one.node].name, one.node)):
            about = {"op": nodes[one.node].name, "by": self._by, "activation": one.activation}
            yield one.tensor, self._book.output(one.layer, trains=trains, **about)

    def _gradients(self, placed: Placed, family: Family, made: dict[str, Any], trains: bool) -> Found:
        for (name, output), variable in family.gradients.items():
            number = family.definition.nodes.get(name)
            if number is not None:
                source = list(family.definition.names(number))[output][0]
                yield source, self._book.find("gradient", variable, by=self._by)


def line_of(recorder: Recorder, site: int) -> tuple[str | None, int | None]:
    """The line of the program that made an op."""
    frames = recorder.catalog.frames(site) if site else ()
    near = next((frame for frame in reversed(frames) if is_user(frame[0])), frames[-1] if frames else None)
    return (near[0], near[1]) if near is not None else (None, None)


def _first(placed: Placed, node: int) -> str:
    """Return the consumers' name of a node's first output."""
    return next(placed.definition.names(node))[0]


def _is_scalar(op: Any) -> bool:
    return op is not None and bool(op.outputs) and op.outputs[0].shape.rank == 0


def _numbers(placed: Placed) -> dict[str, int]:
    """Each tensor's number in its function."""
    definition = placed.definition
    return {
        name: definition.firsts[number] + at
        for number in range(len(definition.nodes))
        for at, (name, _) in enumerate(definition.names(number))
    }
