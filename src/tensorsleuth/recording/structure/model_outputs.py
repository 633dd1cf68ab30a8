"""Calls a model once, in a graph, and returns the outputs of its layers or the gradients of its variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.recording.eager.tape_gradients import source_name
from tensorsleuth.recording.functions.descriptions import python_op
from tensorsleuth.recording.functions.function_def import read_definition
from tensorsleuth.recording.structure.layer_outputs import find_layer_outputs

LayerValue = tuple[str, Any, str | None]  # layer, value, its activation


def layer_outputs(call: Callable[[Any], Any], batch: Any) -> list[LayerValue]:
    """Return the output of each layer. Trace twice: first to find the tensors, then to return them."""
    given = _tensors(batch)
    found = _output_tensors(tf.function(call).get_concrete_function(given))

    @tf.function(autograph=False)
    def handing_out(inputs: Any) -> Any:
        call(inputs)
        graph = tf.compat.v1.get_default_graph()
        return [graph.get_tensor_by_name(tensor) for _, tensor, _ in found]

    try:
        values = handing_out(given)
    except KeyError as error:
        raise SleuthError(f"two traces of the model differ ({error}). Call the model once before.") from None
    return [(layer, value.numpy(), last) for (layer, _, last), value in zip(found, values, strict=True)]


def _output_tensors(concrete: Any) -> list[tuple[str, str, str | None]]:
    """Return (layer, tensor, activation) for each output, in the order in which the program creates them."""
    definition = read_definition(concrete.function_def)
    made = {op.name: op for op in concrete.graph.get_operations()}
    order = {name: number for number, name in enumerate(made)}
    found = []
    for one in find_layer_outputs(definition):
        op = python_op(made, definition.proto.node_def[one.node])
        if op is not None:
            _, output = definition.source(one.tensor)
            found.append((order[op.name], one.layer, f"{op.name}:{output}", one.activation))
    return [tuple(rest) for _, *rest in sorted(found)]  # type: ignore[misc]


def variable_gradients(model: Any, inputs: Any, labels: Any, loss: Any) -> tuple[float, list[tuple[str, Any]]]:
    """Return the loss, and the gradient of each trainable variable that has one."""
    given, goals = _tensors(inputs), _tensors(labels)
    if not hasattr(model, "trainable_variables"):
        raise SleuthError(f"gradients: {type(model).__name__} has no trainable_variables; pass a Keras model.")
    compare = tf.keras.losses.get(loss) if isinstance(loss, str) else loss

    @tf.function
    def differentiating(given: Any, goals: Any) -> Any:
        with tf.GradientTape() as tape:
            value = tf.reduce_mean(compare(goals, model(given, training=True)))
        return value, tape.gradient(value, model.trainable_variables)

    value, found = differentiating(given, goals)
    named = zip(model.trainable_variables, found, strict=True)
    return float(value), [
        (source_name(variable), getattr(gradient, "values", gradient).numpy())
        for variable, gradient in named
        if gradient is not None
    ]


def layer_names(model: Any) -> set[str]:
    """Return the layer names of a Keras model; none for anything else."""
    flatten = getattr(model, "_flatten_layers", None)
    return {layer.name for layer in flatten()} if flatten is not None else set()


def _tensors(batch: Any) -> Any:
    return tf.nest.map_structure(tf.convert_to_tensor, batch)
