"""Arguments of functions that no op made, as far as we saw: data that comes in there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.eager.op_sites import OpSites
from tensorsleuth.recording.tensorflow import internals as tf

NO_MAKER = 0  # what a sink says of the maker of such a tensor


def external_inputs(
    inputs: Sequence[Any], op_sites: OpSites, sink: Sink, makers: tuple[int, ...] = (NO_MAKER,)
) -> Iterator[tuple[int, Any, int]]:
    """The number of each among the arguments, the tensor, and how closely to look at it, if at all."""
    looks = op_sites.modes_for("Argument")
    for number, tensor in enumerate(inputs):
        if isinstance(tensor, tf.EagerTensor) and sink.maker(tensor._id) in makers:
            yield number, tensor, looks[tensor._datatype_enum()]
