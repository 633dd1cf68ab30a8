"""Finds the outputs of layers in a function: tensors that a layer computes and ops outside of it use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.core.ops.activations import ACTIVATIONS
from tensorsleuth.core.ops.layer_names import layer_of
from tensorsleuth.core.ops.views import SHAPE_ONLY_OPS
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.structure.graph_edges import FunctionEdges, GraphEdges, OutputRef
from tensorsleuth.recording.tensorflow import variables as tf_variables

_NOT_COMPUTED = ops.STATIC_VALUES | {tf_variables.READ_VARIABLE}
_VALUE_IGNORING_OPS = ops.OPAQUE_WRAPPERS | SHAPE_ONLY_OPS
_NON_LAYER_SCOPES = ("loss ", "metric ", "optimizer ")  # prefixes from scope_owner in keras/internals.py
_LOSS_SCOPES = frozenset(["compile_loss", "compile_metrics"])  # Keras's scopes after the model's call


@dataclass(frozen=True)
class LayerOutput:
    """The output of a layer."""

    layer: str
    tensor: str  # the name that consumers use
    node: int
    activation: str | None  # the op type of its activation, if it is a known one


def find_layer_outputs(
    definition: Definition,
    around: str | None = None,
    called: Mapping[str, str] | None = None,
    is_scalar: Callable[[str], bool] = lambda name: False,
) -> list[LayerOutput]:
    """Return one tensor for each output of each layer, in the order of the nodes.

    The second output of a layer is called `layer:1`. `around` and `called` are the same as in `find_attention`.
    """
    function_edges = FunctionEdges(definition)
    layers = [layer_at(node.name, around, called) for node in function_edges.nodes]
    found: dict[OutputRef, LayerOutput] = {}
    seen: dict[str, int] = {}
    for number in range(len(function_edges.nodes)):
        for tensor in _leaving_tensors(function_edges, number, layers):
            made = computed_source(function_edges, tensor, layers)
            if made is None or made in found or is_scalar(function_edges.nodes[made[0]].name):
                continue
            layer = str(layers[number])
            again = seen[layer] = seen.get(layer, -1) + 1
            name = f"{layer}:{again}" if again else layer
            found[made] = LayerOutput(
                name, function_edges.name(made), made[0], activation_of(function_edges.nodes[made[0]].op)
            )
    return list(found.values())


def activation_of(op: str) -> str | None:
    return op if op in ACTIVATIONS else None


def layer_at(name: str, around: str | None, called: Mapping[str, str] | None) -> str | None:
    """Return the layer of a node; None for Keras's losses and metrics."""
    layer = layer_of(name, called)
    if layer is not None and (layer.split("/")[0] in _LOSS_SCOPES or layer.startswith(_NON_LAYER_SCOPES)):
        return None
    return layer or around


def _leaving_tensors(function_edges: FunctionEdges, number: int, layers: list[str | None]) -> list[OutputRef]:
    """Return the float outputs of a node that ops outside its layer use."""
    layer = layers[number]
    if layer is None or not is_computed(function_edges, number):
        return []
    dtypes = [dtype for output in function_edges.definition.outputs[number] for dtype in output.dtypes]
    floats = [(number, at) for at, dtype in enumerate(dtypes) if is_float(dtype)]
    return [tensor for tensor in floats if _is_taken_outside(function_edges, tensor, layer, layers)]


def is_computed(graph_edges: GraphEdges, number: int) -> bool:
    """Return whether a node computes something in the forward pass."""
    return number not in graph_edges.after_gradients and graph_edges.nodes[number].op not in _NOT_COMPUTED


def _is_taken_outside(
    function_edges: FunctionEdges, output_ref: OutputRef, layer: str, layers: list[str | None]
) -> bool:
    """Return whether ops outside the layer use a tensor, or the function returns it and the layer does not use it."""
    takers = [taker for taker in function_edges.consumers.get(output_ref, ()) if takes_values(function_edges, taker)]
    outside = any(is_outside(layer, layers[taker]) for taker in takers)
    return outside or (not takers and output_ref in function_edges.returned)


def is_outside(layer: str | None, taker: str | None) -> bool:
    """Return whether a consumer in the scope `taker` is outside a layer."""
    return layer is not None and taker != layer and not str(taker).startswith(f"{layer}/")


def takes_values(graph_edges: GraphEdges, number: int) -> bool:
    """Return whether a node of the forward pass uses the values of its inputs, not only their shapes."""
    return number not in graph_edges.after_gradients and graph_edges.nodes[number].op not in _VALUE_IGNORING_OPS


def computed_source(graph_edges: GraphEdges, output_ref: OutputRef, layers: Sequence[str | None]) -> OutputRef | None:
    """Return the computed tensor behind views; None if another layer computes it."""
    layer = layers[output_ref[0]]
    while graph_edges.nodes[output_ref[0]].op in ops.VIEWS:
        output_ref = graph_edges.inputs[output_ref[0]][0]
        if output_ref[0] < 0 or layers[output_ref[0]] != layer:
            return None
    return output_ref
