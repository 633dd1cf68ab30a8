"""Two lines that update the same variables: one of them may be meant for others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.core.ops.views import SHAPE_ONLY_OPS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables

MAX_HOPS_TO_LOSS = 80  # ops, from an update back to the gradient of its loss
MAX_OPS_TO_DATA = 5_000


@dataclass(frozen=True)
class Update:
    """One line that trains variables in one function or session run."""

    root: int
    line: Frame
    variables: frozenset[int]


class RivalUpdates:
    """The pairs of lines of a program that train exactly the same variables."""

    def __init__(self, training_graph: TrainingGraph, written: WrittenVariables) -> None:
        self._training = training_graph
        self._written = written
        self._forwards: dict[Update, list[OpNode]] = {}

    def pairs(self) -> Iterator[tuple[Update, Update]]:
        """Yield two updates of the same variables, the earlier line first."""
        ordered = sorted(self._updates, key=lambda one: one.line.line)
        for one, other in combinations(ordered, 2):
            apart = one.line != other.line and one.line.file == other.line.file
            if apart and one.variables == other.variables and all(map(self._differentiated, (one, other))):
                yield one, other

    def read_by(self, update: Update) -> dict[int, None]:
        """Return the variables that the differentiated ops of an update are computed from."""
        weights = (self._training.weights_of(one, MAX_HOPS_TO_LOSS) for one in self._differentiated(update))
        return dict.fromkeys(handle for part in weights for handle in part)

    def takes_own_data(self, update: Update, left: Container[int]) -> bool:
        """Return whether its variables are multiplied with data that no variable of `left` has changed.

        The loss of a generator sees only what the generator made, the loss of a discriminator real data as well.
        """
        products = [
            one
            for one in self._differentiated(update)
            if one.type in LAYER_PRODUCTS and update.variables & self._handles(one)
        ]
        level, seen = products, set(products)
        while level and len(seen) < MAX_OPS_TO_DATA:
            open_ops = [one for one in level if not any(handle in left for handle in self._handles(one))]
            if any(self._takes_argument(one) for one in open_ops):
                return True
            sources = (source for one in open_ops for source in self._terms(one))
            level = [one for one in dict.fromkeys(sources) if one not in seen and one.type not in SHAPE_ONLY_OPS]
            seen.update(level)
        return not products

    def _differentiated(self, update: Update) -> list[OpNode]:
        """Return the ops whose gradients the line of an update writes; a line that only clips weights has none."""
        if update not in self._forwards:
            nodes = (
                one.graph_node
                for writer in self._writers[update.root, update.line]
                for one in self._training.neighbours.ancestors(writer, MAX_HOPS_TO_LOSS)
            )
            forwards = (node.forward for node in nodes if node is not None)
            names = {(forward.graph, forward.name) for forward in forwards if forward is not None}
            self._forwards[update] = [one for one in self._ops_of(update.root) if _name(one) in names]
        return self._forwards[update]

    def _ops_of(self, root: int) -> Iterator[OpNode]:
        for instance, function in self._training.instances:
            if self._training.root_instance(instance).id == root:
                for number, node in enumerate(function.nodes):
                    yield OpNode(node.type, instance, function, number)

    @cached_property
    def _updates(self) -> list[Update]:
        found: dict[tuple[int, Frame], set[int]] = defaultdict(set)
        for handle, spots in self._written.by_functions.items():
            for root, line in self._places(spots):
                if handle in self._trainable(root):
                    found[root, line].add(handle)
        return [Update(root, line, frozenset(handles)) for (root, line), handles in found.items()]

    @cached_property
    def _writers(self) -> dict[tuple[int, Frame], list[OpNode]]:
        """Return the ops that write at each line; those that write slots are computed from the gradients too."""
        found: dict[tuple[int, Frame], list[OpNode]] = defaultdict(list)
        for spots in self._written.by_functions.values():
            for spot in spots:
                for place in self._places([spot]):
                    found[place].append(spot)
        return found

    def _places(self, spots: list[OpNode]) -> Iterator[tuple[int, Frame]]:
        for spot in spots:
            root, line = self._training.root_id(spot), self._written.update_line(spot)
            if root in self._training.roots and line is not None:
                yield root, line

    def _trainable(self, root: int) -> set[int]:
        catalogue = self._training.process.catalogue
        captures = catalogue.functions[catalogue.instances[root].function].captures.values()
        return {int(one["uid"]) for one in captures if one.get("trainable") and one.get("uid") is not None}

    def _terms(self, op_node: OpNode) -> Iterator[OpNode]:
        yield from (one for slot in self._training.neighbours.input_ops(op_node) for one in slot)

    def _handles(self, op_node: OpNode) -> set[int]:
        """Return the variables that are inputs of an op."""
        handles = (self._training.variable_handle(one) for one in self._terms(op_node) if one.type in VARIABLE_READS)
        return {handle for handle in handles if handle is not None}

    def _takes_argument(self, op_node: OpNode) -> bool:
        """Return whether an input is an argument of the function that is no variable: a batch, a fed array."""
        if op_node.instance is None or op_node.type in VARIABLE_READS:
            return False
        root = self._training.root_instance(op_node.instance)
        captured = self._training.process.catalogue.functions[root.function].captures
        slots = self._training.call_graphs.flow.input_sources(op_node.instance, op_node.node_index)
        return any(source.argument >= 0 and source.argument not in captured for slot in slots for source in slot)


def _name(op_node: OpNode) -> tuple[int, str]:
    node, function = op_node.graph_node, op_node.function
    return (function.graph, node.name) if node is not None and function is not None else (-1, "")
