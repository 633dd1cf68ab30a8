"""The mean loss of each validation, and of the training before it: by epoch in Keras, by time in other loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.fit_position import Phase
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.reductions import LOSS_ENDS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, tensor_id_of
from tensorsleuth.diagnose.training.returned_values import returned_rows
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables

SIGNATURE_HOPS = 4  # ops before a loss, by which the same loss is known in another function


@dataclass(frozen=True)
class LossPasses:
    """The losses of all validations, oldest first."""

    validation: list[float]
    training: list[float]
    steps: list[int | None]
    frame: Frame | None
    are_epochs: bool
    restores_weights: bool  # written by Python after the last step


def loss_passes(training_graph: TrainingGraph) -> LossPasses | None:
    """Return the losses of the only loss that is trained on; None if it is not also measured on other samples."""
    spots = [spot for spot in training_graph.forward_ops(LOSS_ENDS) if training_graph.begins_gradients(spot)]
    found = [(spot, rows) for spot in spots if len(rows := _rows(training_graph, spot))]
    if len(found) != 1:
        return None
    ((spot, trained),) = found
    measured = [rows for one in _same_losses(training_graph, spot) if len(rows := _rows(training_graph, one))]
    return _passes(training_graph, spot, trained, measured[0]) if len(measured) == 1 else None


def _rows(training_graph: TrainingGraph, op_node: OpNode) -> Array:
    """Return the rows of a scalar, oldest first."""
    events = training_graph.process.events
    rows = events[events["tensor"] == tensor_id_of(op_node)]
    rows = rows[rows["flags"] & EventFlag.RANGED != 0]
    rows = rows if len(rows) else returned_rows(training_graph, op_node)
    scalar = len(rows) and training_graph.process.shape_of(rows[0]) == ()
    return rows[np.argsort(rows["time"], kind="stable")] if scalar else rows[:0]


def _same_losses(training_graph: TrainingGraph, loss: OpNode) -> Iterator[OpNode]:
    """Yield the op of the same name in functions that do not train, computed by the same ops."""
    name, signature = _name(loss), _signature(training_graph, loss)
    for instance, function in training_graph.process.catalogue.called_functions():
        if training_graph.root_instance(instance).id in training_graph.roots:
            continue
        for number, node in enumerate(function.nodes):
            if node.type == loss.type and node.name == name:
                one = OpNode(node.type, instance, function, number)
                if _signature(training_graph, one) == signature:
                    yield one


def _name(op_node: OpNode) -> str:
    return op_node.graph_node.name if op_node.graph_node is not None else ""


def _signature(training_graph: TrainingGraph, op_node: OpNode) -> list[str]:
    return sorted(one.type for one in training_graph.neighbours.ancestors(op_node, SIGNATURE_HOPS))


def _passes(training_graph: TrainingGraph, loss: OpNode, trained: Array, measured: Array) -> LossPasses | None:
    """Group the validations between two training steps; evaluation of a finished model is the last of them."""
    process = training_graph.process
    after = np.searchsorted(trained["time"], measured["time"])  # how many training steps came before
    validation, training, steps, before = list[float](), list[float](), list[int | None](), 0
    for count in np.unique(after[after > 0]):
        validation.append(float(np.mean(measured["max"][after == count])))
        training.append(float(np.mean(trained["max"][before:count])))
        steps.append(process.step_of(trained[count - 1]))
        before = int(count)
    if not validation:
        return None
    calls = {call for row in measured if (call := process.call_of(row)) is not None}
    phases = {batch.phase for call in calls if (batch := process.batches.of_call(call)) is not None}
    frame = _loop_line(training_graph, loss) or training_graph.frame(loss)
    restores = _restores(training_graph, process.call_of(trained[-1]))
    return LossPasses(validation, training, steps, frame, Phase.EVALUATE in phases, restores)


def _loop_line(training_graph: TrainingGraph, loss: OpNode) -> Frame | None:
    """Return the line of `fit`; the loss itself may be one that a loaded model brought along later."""
    site = training_graph.neighbours.site(loss)
    frames = site.frames if site is not None else ()
    return next((frame for frame in frames if training_graph.is_keras_loop(frame)), None)


def _restores(training_graph: TrainingGraph, last: int | None) -> bool:
    """Return whether Python wrote weights after the last step, as a callback that restores the best ones."""
    written = WrittenVariables(training_graph)
    roots, known = training_graph.roots, training_graph.variables.untrainable
    trained = {  # the counters of Keras 2 are not known as such, and that of its validations is written elsewhere
        handle
        for handle, writers in written.by_functions.items()
        if handle not in known and any(training_graph.root_id(one) in roots for one in writers)
    }
    return last is not None and any(max(written.by_eager_calls.get(one, [0])) > last for one in trained)
