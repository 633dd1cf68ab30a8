"""Layer statistics of a function: selects the tensors when the recorder prepares the watched copy."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.live.layer_stats.inputs import SelectedTensors, dataset_inputs
from tensorsleuth.live.layer_stats.series import LayerMeasure, LayerSeries, LayerSeriesRegistry
from tensorsleuth.native import loader
from tensorsleuth.recording.call_sites import is_user_file
from tensorsleuth.recording.functions.descriptions import python_op
from tensorsleuth.recording.functions.function_def import is_compiled
from tensorsleuth.recording.functions.probes import FunctionInstance
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.structure.attention import find_attention
from tensorsleuth.recording.structure.layer_outputs import find_layer_outputs
from tensorsleuth.recording.structure.tensor_roles import InstanceContext, TensorRoles

FORWARD_PREFIX = "__forward_"  # TensorFlow's prefix for a function that an outer tape differentiates


class FunctionLayerStats:
    """Assigns the tensors of functions to series."""

    def __init__(
        self,
        recorder: Recorder,
        native: loader.Native,
        book: LayerSeriesRegistry,
        tensor_roles: TensorRoles,
        by: str | None = None,
    ) -> None:
        self._recorder = recorder
        self._native = native
        self._book = book
        self._subjects = tensor_roles
        self._by = by
        self._trains: dict[int, bool] = {}  # by instance
        self._compiled: dict[int, bool] = {}

    def placed(self, function_instance: FunctionInstance) -> frozenset[str]:
        """Select the measured tensors of a function, once its tensors have their ids."""
        family = self._subjects.context(function_instance)
        trains = self._trains[function_instance.instance] = self._does_train(function_instance)
        if function_instance.of_dataset or (self._by is not None and not self._is_compiled(function_instance)):
            return frozenset()
        made = (
            {op.name: op for op in function_instance.graph.get_operations()}
            if function_instance.graph is not None
            else {}
        )
        found: dict[str, LayerSeries | None] = {}  # a tensor has one series only: the first kind wins
        kinds = self._attention, self._outputs, self._gradients, self._predictions
        for source, entry in (one for kind in kinds for one in kind(function_instance, family, made, trains)):
            found.setdefault(source, entry)
        found |= dict(dataset_inputs(function_instance, self._book, trains) if self._by is None else ())
        numbers = _numbers(function_instance)
        for source, entry in found.items():
            if entry is not None:
                self._native.inside_on(function_instance.first + numbers[source], entry.series.number)
        return frozenset(source for source, entry in found.items() if entry is not None)

    def _does_train(self, function_instance: FunctionInstance) -> bool:
        if function_instance.parent in self._trains:
            return self._trains[function_instance.parent]
        return (
            function_instance.name.startswith(FORWARD_PREFIX)
            or self._recorder.functions.kind(function_instance.name, lambda: function_instance.graph) == "train"
        )

    def _is_compiled(self, function_instance: FunctionInstance) -> bool:
        """Return whether XLA compiles a function, alone or as part of a caller."""
        caller = self._subjects.calling_node(function_instance)
        inner = is_compiled(function_instance.definition.proto.attr) or (
            caller is not None and is_compiled(caller.attr)
        )
        found = self._compiled[function_instance.instance] = inner or self._compiled.get(
            function_instance.parent, False
        )
        return found

    def _attention(
        self, function_instance: FunctionInstance, instance_context: InstanceContext, made: dict[str, Any], trains: bool
    ) -> SelectedTensors:
        seen: dict[str, int] = {}
        for one in find_attention(
            function_instance.definition,
            instance_context.outer_layer,
            self._recorder.scopes.names_in(function_instance.graph),
        ):
            again = seen[one.name] = seen.get(one.name, -1) + 1
            name = f"{one.name}:{again}" if again else one.name
            node = function_instance.definition.proto.node_def[one.node]
            op = python_op(made, node)
            place = user_line(self._recorder, self._recorder.sites.of_graph_op(op) if op is not None else 0)
            about = {"trains": trains, "place": place, "op": node.name, "by": self._by, "axis": one.row_axis}
            yield (
                _first(function_instance, one.node),
                self._book.find("attention", name, LayerMeasure.ATTENTION, **about),
            )

    def _outputs(
        self, function_instance: FunctionInstance, instance_context: InstanceContext, made: dict[str, Any], trains: bool
    ) -> SelectedTensors:
        order = {name: number for number, name in enumerate(made)}
        called = self._recorder.scopes.names_in(function_instance.graph)
        found = find_layer_outputs(
            function_instance.definition, instance_context.outer_layer, called, lambda name: _is_scalar(made.get(name))
        )
        nodes = function_instance.definition.proto.node_def
        for one in sorted(found, key=lambda one: order.get(nodes[one.node].name, one.node)):
            about = {"op": nodes[one.node].name, "by": self._by, "activation": one.activation}
            yield one.tensor, self._book.output(one.layer, trains=trains, **about)

    def _gradients(
        self, function_instance: FunctionInstance, instance_context: InstanceContext, made: dict[str, Any], trains: bool
    ) -> SelectedTensors:
        for (name, output), variable in instance_context.gradients.items():
            number = instance_context.definition.nodes.get(name)
            if number is not None:
                source = list(instance_context.definition.output_names(number))[output][0]
                yield source, self._book.find("gradient", variable, by=self._by)

    def _predictions(
        self, function_instance: FunctionInstance, instance_context: InstanceContext, made: dict[str, Any], trains: bool
    ) -> SelectedTensors:
        """Yield the second output of each softmax cross-entropy: probabilities minus labels."""
        for number, node in enumerate(function_instance.definition.proto.node_def if trains else ()):
            if node.op in CROSS_ENTROPIES:
                op = python_op(made, node)
                place = user_line(self._recorder, self._recorder.sites.of_graph_op(op) if op is not None else 0)
                source = [name for name, _ in function_instance.definition.output_names(number)][1]
                about: dict[str, Any] = {"place": place, "op": node.name, "by": self._by}
                yield source, self._book.find("prediction", node.name, LayerMeasure.FIRST_ROWS, **about)


def user_line(recorder: Recorder, site: int) -> tuple[str | None, int | None]:
    """Return the program's file and line of an op."""
    frames = recorder.catalog.frames(site) if site else ()
    near = next((frame for frame in reversed(frames) if is_user_file(frame[0])), frames[-1] if frames else None)
    return (near[0], near[1]) if near is not None else (None, None)


def _first(function_instance: FunctionInstance, node: int) -> str:
    """Return the name under which consumers use a node's first output."""
    return next(function_instance.definition.output_names(node))[0]


def _is_scalar(op: Any) -> bool:
    return op is not None and bool(op.outputs) and op.outputs[0].shape.rank == 0


def _numbers(function_instance: FunctionInstance) -> dict[str, int]:
    """Map each tensor to its number in the function."""
    definition = function_instance.definition
    return {
        name: definition.first_outputs[number] + at
        for number in range(len(definition.nodes))
        for at, (name, _) in enumerate(definition.output_names(number))
    }
