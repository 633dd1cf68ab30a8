"""The parts of a recording that rules and causes are about: they are asked only about a process that has some."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Flag, auto

import numpy as np

from tensorsleuth.core.catalog import Catalogue, EagerOp
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.core.series import OF_LAYER_STATS
from tensorsleuth.trace.process.process import ProcessTrace

MIN_REPEATS = 3
LARGE_TENSOR_BYTES = 4_000_000
_MAX_ITEM_BYTES = 16  # of a complex128


class Need(Flag):
    """A part of a recording. `NEEDS` of a folder of rules, or of a cause, lists all that it can say anything about.

    It is left out if a process has none of the parts that it lists.
    """

    FUNCTIONS = auto()  # of any kind
    TRAINING = auto()  # functions with gradients
    EAGER_GRADIENTS = auto()  # of eager code, op by op
    VARIABLES = auto()  # that eager code reads
    LAYER_STATISTICS = auto()  # attention, layers, gradients, inputs (docs/inside.md)
    IDLE_UPDATES = auto()  # optimizers that sessions do not run
    TAPE_VARIABLES = auto()  # that eager code watches, and asks no gradients of
    SQUARE_TENSORS = auto()  # [N, N]
    LARGE_TENSORS = auto()
    STEPS = auto()  # more than one
    REPEATED_OPS = auto()  # an op that ran several times
    KERAS_BATCHES = auto()
    TRACES = auto()  # of tf.functions
    TEXTS = auto()
    HIDDEN_ERRORS = auto()  # that XLA does not raise


ALL_PARTS = ~Need(0)


def recorded_parts(process: ProcessTrace) -> Need:
    """Return the parts that a process has recorded. `process.cached(recorded_parts)` looks once."""
    return Need(sum(need.value for need, has in _TESTS.items() if has(process)))


def _in_catalogue(has: Callable[[Catalogue], object]) -> Callable[[ProcessTrace], bool]:
    return lambda process: bool(has(process.catalogue))


def _is_gradient(catalogue: Catalogue, op: EagerOp) -> bool:
    return op.forward > 0 or op.forward in catalogue.eager


def _has_square_tensors(process: ProcessTrace) -> bool:
    return any(len(shape) == 2 and 1 < shape[0] == shape[1] for shape in process.shapes)


def _has_large_tensors(process: ProcessTrace) -> bool:
    return any(math.prod(shape) * _MAX_ITEM_BYTES >= LARGE_TENSOR_BYTES for shape in process.shapes)


def _has_steps(process: ProcessTrace) -> bool:
    return int(process.calls["step"].max(initial=-1)) > 0


def _has_repeated_ops(process: ProcessTrace) -> bool:
    counts = np.unique(process.early_events()["tensor"], return_counts=True)[1]
    return int(counts.max(initial=0)) >= MIN_REPEATS


_TESTS: dict[Need, Callable[[ProcessTrace], bool]] = {
    Need.FUNCTIONS: _in_catalogue(lambda known: known.functions),
    Need.TRAINING: _in_catalogue(lambda known: any(one.trains for one in known.functions.values())),
    Need.EAGER_GRADIENTS: _in_catalogue(lambda known: any(_is_gradient(known, one) for one in known.eager.values())),
    Need.VARIABLES: _in_catalogue(lambda known: any(one.type in VARIABLE_READS for one in known.eager.values())),
    Need.LAYER_STATISTICS: _in_catalogue(
        lambda known: any(one.owner == OF_LAYER_STATS for one in known.series.values())
    ),
    Need.IDLE_UPDATES: _in_catalogue(lambda known: known.idle_updates),
    Need.TAPE_VARIABLES: _in_catalogue(lambda known: known.unused_tape_variables),
    Need.SQUARE_TENSORS: _has_square_tensors,
    Need.LARGE_TENSORS: _has_large_tensors,
    Need.STEPS: _has_steps,
    Need.REPEATED_OPS: _has_repeated_ops,
    Need.KERAS_BATCHES: lambda process: bool((process.calls["kind"] == CallKind.BATCH).any()),
    Need.TRACES: _in_catalogue(lambda known: known.traces),
    Need.TEXTS: _in_catalogue(lambda known: known.texts),
    Need.HIDDEN_ERRORS: _in_catalogue(lambda known: known.hidden_failures),
}
