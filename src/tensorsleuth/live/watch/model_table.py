"""One look at a model on one batch: what leaves its layers, and the gradients of its variables."""

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
    """Return the outputs of each layer of a model called with this batch, once, in a graph: a line a layer.

    Args:
        model: a Keras model, or any function of tensors.
        batch: what it is called with; of a tuple or list (inputs, labels, …) the inputs.
        training: passed on, where it is not None.
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
    """The gradient of a loss on one batch, for each variable of a model: a line each.

    Args:
        model: a Keras model, or another callable with `trainable_variables`.
        batch: (inputs, labels).
        loss: a function of labels and outputs, or the name of a loss of Keras.

    With a regular expression alone: what `break_when(on=…)` takes for the gradients of the variables of these names.
    """
    if isinstance(model, str):
        return of_gradients(model)
    recording.require_tensorflow()
    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise SleuthError("gradients(model, batch, loss): the batch must be a pair, (inputs, labels).")
    if loss is None:
        raise SleuthError("gradients(model, batch, loss): say which loss: a function of labels and outputs, or a name.")
    with _recording_paused():
        value, seen = model_outputs.variable_gradients(model, batch[0], batch[1], loss)
    lines = [row_of(name, gradient) for name, gradient in seen]
    return TensorStatsTable(f"gradients of {len(lines)} variables of {_name(model)}; the loss is {value:.6g}", lines)


@contextlib.contextmanager
def _recording_paused() -> Iterator[None]:
    """Hide our own calls: no recording sees them, and they count no step."""
    recorder = recording.active_recorder()
    if recorder is not None:
        recorder.pause()
    try:
        yield
    finally:
        if recorder is not None:
            recorder.resume()


def _as_named(layer: str, known: set[str]) -> str:
    """The scopes of a layer, less the numbers that TensorFlow put behind names that were taken."""
    parts = (part if part in known else _NUMBER.sub("", part) for part in layer.split("/"))
    return "/".join(parts) if known else layer


def _name(model: Any) -> str:
    name = getattr(model, "name", None) or getattr(model, "__name__", None)
    return name if isinstance(name, str) else type(model).__name__
