"""Finds what leaves the layers of a function: what is computed in a layer and taken outside of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.core.ops.activations import ACTIVATIONS
from tensorsleuth.core.ops.layer_names import layer_of
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.structure.graph_edges import Edges, Tensor, Wiring
from tensorsleuth.recording.tensorflow import variables as tf_variables

_NOT_COMPUTED = ops.STATIC | {tf_variables.READ_VARIABLE}
_TAKES_SHAPE = frozenset(["ZerosLike", "OnesLike", "Shape", "ShapeN", "Size", "Rank", "BroadcastGradientArgs"])
_NO_VALUES = ops.PUTS_AWAY | _TAKES_SHAPE
_NO_LAYERS = ("loss ", "metric ", "optimizer ")  # what `keras.part` calls scopes
_BESIDE = frozenset(["compile_loss", "compile_metrics"])  # what Keras does when the model has been called


@dataclass(frozen=True)
class LayerOutput:
    """The output of a layer."""

    layer: str
    tensor: str  # as its takers write it
    node: int
    activation: str | None  # of model.activations


def find_outputs(
    definition: Definition,
    around: str | None = None,
    called: Mapping[str, str] | None = None,
    is_scalar: Callable[[str], bool] = lambda name: False,
) -> list[LayerOutput]:
    """A tensor for each thing that leaves a layer, in the order of the nodes.

    The second of a layer is called `layer:1`. `around`, `called`: as `find_attention` has them.
    """
    wiring = Wiring(definition)
    layers = [layer_at(node.name, around, called) for node in wiring.nodes]
    found: dict[Tensor, LayerOutput] = {}
    seen: dict[str, int] = {}
    for number in range(len(wiring.nodes)):
        for tensor in _leaving(wiring, number, layers):
            made = computed_in(wiring, tensor, layers)
            if made is None or made in found or is_scalar(wiring.nodes[made[0]].name):
                continue
            layer = str(layers[number])
            again = seen[layer] = seen.get(layer, -1) + 1
            name = f"{layer}:{again}" if again else layer
            found[made] = LayerOutput(name, wiring.name(made), made[0], activation_of(wiring.nodes[made[0]].op))
    return list(found.values())


def activation_of(op: str) -> str | None:
    return op if op in ACTIVATIONS else None


def layer_at(name: str, around: str | None, called: Mapping[str, str] | None) -> str | None:
    """The layer that a node is in: none where Keras computes its loss and metrics."""
    layer = layer_of(name, called)
    if layer is not None and (layer.split("/")[0] in _BESIDE or layer.startswith(_NO_LAYERS)):
        return None
    return layer or around


def _leaving(wiring: Wiring, number: int, layers: list[str | None]) -> list[Tensor]:
    """The numbers that a node puts out and its layer hands to others."""
    layer = layers[number]
    if layer is None or not is_computed(wiring, number):
        return []
    dtypes = [dtype for output in wiring.definition.outputs[number] for dtype in output.dtypes]
    floats = [(number, at) for at, dtype in enumerate(dtypes) if is_float(dtype)]
    return [tensor for tensor in floats if _is_taken_outside(wiring, tensor, layer, layers)]


def is_computed(edges: Edges, number: int) -> bool:
    """Does a node compute something, in the forward pass."""
    return number not in edges.after_gradients and edges.nodes[number].op not in _NOT_COMPUTED


def _is_taken_outside(wiring: Wiring, tensor: Tensor, layer: str, layers: list[str | None]) -> bool:
    """Returned counts as taken, unless the layer goes on with it: then the backward pass may be all that it is for."""
    takers = [taker for taker in wiring.takers.get(tensor, ()) if takes_values(wiring, taker)]
    outside = any(is_outside(layer, layers[taker]) for taker in takers)
    return outside or (not takers and tensor in wiring.returned)


def is_outside(layer: str | None, taker: str | None) -> bool:
    """Does what is taken there leave a layer."""
    return layer is not None and taker != layer and not str(taker).startswith(f"{layer}/")


def takes_values(edges: Edges, number: int) -> bool:
    """Does a node of the forward pass take what is in its inputs: not only their shapes, nor to put it away."""
    return number not in edges.after_gradients and edges.nodes[number].op not in _NO_VALUES


def computed_in(edges: Edges, tensor: Tensor, layers: Sequence[str | None]) -> Tensor | None:
    """The tensor that has these values and is sure to be computed: not a view of it; None where another layer does."""
    layer = layers[tensor[0]]
    while edges.nodes[tensor[0]].op in ops.VIEWS:
        tensor = edges.inputs[tensor[0]][0]
        if tensor[0] < 0 or layers[tensor[0]] != layer:
            return None
    return tensor
