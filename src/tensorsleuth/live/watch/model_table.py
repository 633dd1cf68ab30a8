"""Tables of a model on one batch: the outputs of its layers, and the gradients of its variables."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, overload

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.watch.table import TensorStatsTable, row_of
from tensorsleuth.recording import api as recording
from tensorsleuth.recording.structure import model_outputs
from tensorsleuth.recording.structure.selector import gradients as of_gradients

_NUMBER = re.compile(r"_\d+$")


def activations(model: Callable[..., Any], batch: Any, *, training: bool | None = None) -> TensorStatsTable:
    """Call a model once with this batch, in a graph, and return the outputs of its layers, one line each.

    Args:
        model: a Keras model, or any function of tensors.
        batch: the inputs of the model, or a tuple or list that starts with them (inputs, labels, …).
        training: passed to the model, unless it is None.
    """
    recording.require_tensorflow()
    given = batch[0] if isinstance(batch, tuple | list) and batch else batch
    how = {} if training is None else {"training": training}
    with _recording_paused():
        seen = model_outputs.layer_outputs(lambda inputs: model(inputs, **how), given)
    known = model_outputs.layer_names(model)
    lines = [row_of(_as_named(layer, known), value, activation) for layer, value, activation in seen]
    return TensorStatsTable(f"{len(lines)} layers of {_name(model)}", lines)


@overload
def gradients(model: str = ".*") -> str: ...
@overload
def gradients(model: Any, batch: Any, loss: Any) -> TensorStatsTable: ...


def gradients(model: Any = ".*", batch: Any = None, loss: Any = None) -> Any:
    """Return the gradient of a loss on one batch, one line for each variable of a model.

    Args:
        model: a Keras model, or another callable with `trainable_variables`.
        batch: (inputs, labels).
        loss: a function of labels and outputs, or the name of a Keras loss.

    With a regular expression as the only argument, return a selector of gradients for `break_when(on=…)`.
    """
    if isinstance(model, str):
        return of_gradients(model)
    recording.require_tensorflow()
    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise SleuthError("gradients(model, batch, loss): the batch must be a pair, (inputs, labels).")
    if loss is None:
        raise SleuthError("gradients(model, batch, loss): pass a loss: a function of labels and outputs, or a name.")
    with _recording_paused():
        value, seen = model_outputs.variable_gradients(model, batch[0], batch[1], loss)
    lines = [row_of(name, gradient) for name, gradient in seen]
    return TensorStatsTable(f"gradients of {len(lines)} variables of {_name(model)}; the loss is {value:.6g}", lines)


@contextlib.contextmanager
def _recording_paused() -> Iterator[None]:
    """Hide our own calls: recordings do not see them, and no step is counted."""
    recorder = recording.active_recorder()
    if recorder is not None:
        recorder.pause()
    try:
        yield
    finally:
        if recorder is not None:
            recorder.resume()


def _as_named(layer: str, known: set[str]) -> str:
    """Return the scopes of a layer, without the numbers that TensorFlow appended to make them unique."""
    parts = (part if part in known else _NUMBER.sub("", part) for part in layer.split("/"))
    return "/".join(parts) if known else layer


def _name(model: Any) -> str:
    name = getattr(model, "name", None) or getattr(model, "__name__", None)
    return name if isinstance(name, str) else type(model).__name__
