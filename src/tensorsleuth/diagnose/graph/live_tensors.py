"""The tensors of a training function that its results or its writes depend on; all others are computed in vain."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Instance, Node
from tensorsleuth.core.ops.kinds import CALLS, CONTROL_FLOW, HAND_OUTS, PYTHON_FUNCTIONS, writes_variables
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.trace.dataflow.value_flow import ValueSource
from tensorsleuth.trace.process.process import ProcessTrace


class LiveTensors:
    """The live tensors of each function that Python calls to train, by their ids."""

    def __init__(self, process: ProcessTrace) -> None:
        self._training = process.cached(TrainingGraph)
        self._flow = self._training.call_graphs.flow
        self._by_root: dict[int, set[int]] = {}

    def of_root(self, root: int) -> set[int]:
        if root not in self._by_root:
            self._by_root[root] = self._behind(self._ends(root))
        return self._by_root[root]

    def _behind(self, ends: Iterator[ValueSource]) -> set[int]:
        """Return these tensors and all that they are computed from."""
        process, level = self._training.process, [one.tensor for one in ends]
        found = set(level)
        while level:
            tensor = process.tensor(level.pop())
            if tensor is None or tensor.node is None or tensor.instance is None or tensor.function is None:
                continue
            slots = self._flow.input_sources(tensor.instance, tensor.function.number(tensor.node))
            before = {one.tensor for slot in slots for one in slot} - found
            found |= before
            level += before
        return found

    def _ends(self, root: int) -> Iterator[ValueSource]:
        """Yield all that leaves a function: what it returns, what it writes, what its branches and loops pass on."""
        for instance, function in self._training.instances:
            if self._training.root_instance(instance).id != root:
                continue
            if instance.parent < 0 or self._is_control_flow(instance):
                for at in range(len(function.returns)):
                    yield from self._flow.output_sources(instance, at)
            for number, node in enumerate(function.nodes):
                if self._has_effect(instance, number, node):
                    yield from (one for slot in self._flow.input_sources(instance, number) for one in slot)

    def _is_control_flow(self, instance: Instance) -> bool:
        catalogue = self._training.process.catalogue
        caller = catalogue.functions.get(catalogue.instances[instance.parent].function)
        return caller is None or caller.nodes[instance.node].type not in CALLS

    def _has_effect(self, instance: Instance, number: int, node: Node) -> bool:
        if writes_variables(node.type) or node.type in HAND_OUTS | PYTHON_FUNCTIONS | CONTROL_FLOW:
            return True
        unknown = node.type in CALLS and not self._flow.has_callees(instance, number)
        return unknown or (not node.dtypes and node.type != "NoOp")
