"""The functions that train a model: their ops, and the outputs of these step by step."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame, Function, Instance
from tensorsleuth.core.layout.rows import CallKind, EventFlag
from tensorsleuth.core.ops.kinds import VARIABLE_READS, VIEWS
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.diagnose.graph.layer_lines import LayerLines, runs_keras_loop
from tensorsleuth.diagnose.graph.neighbours import Neighbours, OpNode
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.variables import VariableIndex
from tensorsleuth.trace.process.layers import LayerLookup
from tensorsleuth.trace.process.process import ProcessTrace

MAX_NESTING = 100
MAX_HOPS_TO_WEIGHTS = 8  # ops
MAX_HOPS_TO_GRADIENT = 30
COUNT_COLUMNS = ("neg_inf", "pos_inf", "nan", "neg", "zero", "pos")


class TrainingGraph:
    """The training functions of one process."""

    def __init__(self, process: ProcessTrace) -> None:
        self.process = process
        self.call_graphs = CallGraphs(process)
        self.neighbours = Neighbours(self.call_graphs)
        self.variables = VariableIndex(self.call_graphs)
        self._layers = LayerLookup(process.catalogue)

    @cached_property
    def roots(self) -> dict[int, Instance]:
        """Return the functions that Python calls to train, by id: with gradients inside, or under a tape."""
        return {
            self.root_instance(instance).id: self.root_instance(instance)
            for instance, function in self.process.catalogue.called_functions()
            if function.trains
        }

    @cached_property
    def instances(self) -> list[tuple[Instance, Function]]:
        """Return the functions that train, and all that they call."""
        running = self.process.catalogue.called_functions()
        return [(instance, function) for instance, function in running if self.root_instance(instance).id in self.roots]

    def root_instance(self, instance: Instance) -> Instance:
        """Return the function that Python calls in which an instance runs."""
        for _ in range(MAX_NESTING):  # a hostile catalogue may go round in circles
            if instance.parent not in self.process.catalogue.instances:
                break
            instance = self.process.catalogue.instances[instance.parent]
        return instance

    def forward_ops(self, types: Container[str]) -> Iterator[OpNode]:
        """Yield their ops of these types, without those of gradients."""
        for instance, function in self.instances:
            for number, node in enumerate(function.nodes):
                op_node = OpNode(node.type, instance, function, number) if node.type in types else None
                if op_node is not None and not op_node.is_gradient:
                    yield op_node

    def output_rows(self, op_nodes: Iterable[OpNode], output: int = 0) -> dict[OpNode, Array]:
        """Return the rows of an output of each node, oldest first, without those that were never recorded."""
        by_tensor = {tensor + output: spot for spot in op_nodes if (tensor := self.first_tensor(spot)) is not None}
        events = self.process.events
        rows = events[np.isin(events["tensor"], np.array([*by_tensor], np.uint32))] if by_tensor else events[:0]
        rows = rows[rows["flags"] & EventFlag.RANGED != 0]
        rows = rows[np.argsort(rows["tensor"], kind="stable")]
        tensors, firsts = np.unique(rows["tensor"], return_index=True)
        parts = np.split(rows, firsts[1:]) if len(tensors) else []
        return {by_tensor[int(tensor)]: part for tensor, part in zip(tensors, parts, strict=True)}

    def first_tensor(self, op_node: OpNode) -> int | None:
        """Return the id of an op's first output; of eager code, of all calls of that op."""
        if op_node.function is not None:
            return tensor_id_of(op_node)
        op = self.call_graphs.calls.op(op_node.call)
        return op.first_tensor if op is not None else None

    # ---- what stands around an op

    def weights_of(self, op_node: OpNode, depth: int = MAX_HOPS_TO_WEIGHTS) -> list[int]:
        """Return the handles of the variables that an op is computed from, nearest first."""
        near = (
            self.variable_handle(one) for one in self.neighbours.ancestors(op_node, depth) if one.type in VARIABLE_READS
        )
        return list(dict.fromkeys(handle for handle in near if handle is not None))

    def takes_weights(self, op_node: OpNode) -> bool:
        """Return whether one of its operands is a variable, at most cast or reshaped."""
        sources = [source for slot in self.neighbours.input_ops(op_node) for source in slot]
        sources += [
            before
            for one in sources
            if one.type == "Cast"
            for slot in self.neighbours.input_ops(one)
            for before in slot
        ]
        return any(one.type in VARIABLE_READS for one in sources)

    def feeds_next_layer(self, op_node: OpNode, through: Container[str]) -> bool:
        """Return whether weights consume it: it is the output of a hidden layer, not of the last or of a loss."""
        level, seen = {op_node}, {op_node}
        for _ in range(MAX_HOPS_TO_WEIGHTS):
            users = {user for one in level for user in self.neighbours.consumers(one) if not user.is_gradient} - seen
            if any(user.type in LAYER_PRODUCTS and self.takes_weights(user) for user in users):
                return True
            seen |= users
            level = {user for user in users if user.type in through or user.type in VIEWS}
        return False

    def forward_consumers(self, op_node: OpNode) -> list[OpNode]:
        """Return the consumers of an op's output that are no gradients, in functions and in eager code."""
        users = self.neighbours.consumers(op_node)
        return sorted(
            (one for one in users if not self._differentiates(one)), key=lambda one: (one.call, one.node_index)
        )

    def _differentiates(self, op_node: OpNode) -> bool:
        op = self.call_graphs.calls.op(op_node.call) if op_node.function is None else None
        return op_node.is_gradient or (op is not None and op.forward > 0)

    def variable_handle(self, read: OpNode) -> int | None:
        """The variable that an op reads: captured by the function that Python calls."""
        if read.instance is None:
            return None
        slots = self.call_graphs.flow.input_sources(read.instance, read.node_index)
        root = self.process.catalogue.functions.get(self.root_instance(read.instance).function)
        arguments = [source.argument for source in slots[0]] if slots and root is not None else []
        uids = [root.captures.get(at, {}).get("uid") for at in arguments] if root is not None else []
        return next((int(uid) for uid in uids if uid is not None), None)

    def root_id(self, op_node: OpNode) -> int:
        """Return the id of the function that Python calls, in which an op runs."""
        return self.root_instance(op_node.instance).id if op_node.instance is not None else -1

    def call_count(self, root: int) -> int:
        """Return the number of Python's calls of a function."""
        ops = [op.id for op in self.process.catalogue.eager.values() if op.instance == root]
        calls = self.process.calls
        return int(((calls["kind"] == CallKind.FUNCTION) & np.isin(calls["op"], ops)).sum())

    def is_differentiated(self, op_node: OpNode) -> bool:
        """Return whether a gradient passes through anything computed from it, in the same function."""
        level, seen = [op_node], {op_node}
        for _ in range(MAX_HOPS_TO_GRADIENT):
            users = {user for one in level for user in self._users(one)} - seen
            if any(self._is_named_in(one, self._differentiated) for one in users):
                return True
            seen |= users
            level = [one for one in users if one.type not in ("StopGradient", "PreventGradient")]
        return False

    def begins_gradients(self, op_node: OpNode) -> bool:
        """Return whether it is differentiated, and nothing that is made of it: a loss, or a part of one."""
        ends = not any(self._is_named_in(user, self._differentiated) for user in self._users(op_node))
        return ends and self._is_named_in(op_node, self._differentiated)

    def _users(self, op_node: OpNode) -> Iterator[OpNode]:
        assert op_node.function is not None
        for number in self.call_graphs.flow.consumers(op_node.function, op_node.node_index):
            user = OpNode(op_node.function.nodes[number].type, op_node.instance, op_node.function, number)
            if not user.is_gradient:
                yield user

    def _is_named_in(self, op_node: OpNode, names: set[tuple[int, str]]) -> bool:
        node, function = op_node.graph_node, op_node.function
        return node is not None and function is not None and (function.graph, node.name) in names

    @cached_property
    def _differentiated(self) -> set[tuple[int, str]]:
        """Graphs and names of the ops that gradients differentiate."""
        functions = self.process.catalogue.functions.values()
        forwards = (node.forward for function in functions for node in function.nodes)
        return {(forward.graph, forward.name) for forward in forwards if forward is not None}

    # ---- in the user's terms

    def layer(self, op_node: OpNode) -> str | None:
        node = op_node.graph_node
        return (
            self._layers.of_node(op_node.function, node) if op_node.function is not None and node is not None else None
        )

    def frame(self, op_node: OpNode) -> Frame | None:
        """Return the user's line of an op; in a Keras loop, which runs whole models, the line that made its layer."""
        site, layer = self.neighbours.site(op_node), self.layer(op_node)
        frame = LayerLines(self.process).line(site, layer, op_node.type)
        if (
            frame is not None
            and frame.shown_at is None
            and (self.is_keras_loop(frame) or frame in self._model_call_lines)
        ):
            made = (self.variables.creation_line(handle) for handle in self.weights_of(op_node))
            return next((one for one in made if one is not None), frame)
        return frame

    @cached_property
    def _model_call_lines(self) -> set[Frame]:
        """Return the lines that call whole models: they run softmaxes of layers made on several lines."""
        made: dict[Frame, set[Frame]] = {}
        for spot in self.forward_ops(("Softmax",)):
            site = self.neighbours.site(spot)
            lines = (self.variables.creation_line(handle) for handle in self.weights_of(spot))
            line = next((one for one in lines if one is not None), None)
            if site is not None and site.frame is not None and line is not None:
                made.setdefault(site.frame, set()).add(line)
        return {frame for frame, lines in made.items() if len(lines) > 1}

    def is_keras_loop(self, frame: Frame) -> bool:
        """Return whether it is a line that runs a whole model, as `fit` does."""
        return runs_keras_loop(self.process, frame)


def tensor_id_of(op_node: OpNode) -> int:
    """The id of the first tensor that an op in a function puts out."""
    node = op_node.graph_node
    assert op_node.instance is not None
    assert node is not None
    return op_node.instance.first_tensor + node.first_output


def class_count(training_graph: TrainingGraph, op_node: OpNode) -> int:
    """Return the number of classes of a softmax cross-entropy, from its second output; 0 if unrecorded."""
    events, first = training_graph.process.events, training_graph.first_tensor(op_node)
    is_known = op_node.type in CROSS_ENTROPIES and first is not None
    rows = events[events["tensor"] == (first or 0) + 1][:1] if is_known else events[:0]
    shape = training_graph.process.shape_of(rows[0]) if len(rows) else None
    return shape[-1] if shape else 0


def element_counts(rows: Array) -> Array:
    """Return the number of elements of each row's tensor."""
    counted: Array = sum((rows[name].astype(np.int64) for name in COUNT_COLUMNS), np.zeros(len(rows), np.int64))
    return counted
