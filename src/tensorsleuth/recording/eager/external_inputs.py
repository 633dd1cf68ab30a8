"""Arguments of functions that no recorded op made: data that enters the program there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.eager.op_sites import OpSites
from tensorsleuth.recording.tensorflow import internals as tf

NO_MAKER = 0  # a sink's answer for a tensor without a known maker


def external_inputs(
    inputs: Sequence[Any], op_sites: OpSites, sink: Sink, makers: tuple[int, ...] = (NO_MAKER,)
) -> Iterator[tuple[int, Any, int]]:
    """Yield each argument that no recorded op made: its index, the tensor, and the mode in which to record it."""
    looks = op_sites.modes_for("Argument")
    for number, tensor in enumerate(inputs):
        if isinstance(tensor, tf.EagerTensor) and sink.maker(tensor._id) in makers:
            yield number, tensor, looks[tensor._datatype_enum()]
