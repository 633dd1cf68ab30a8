"""The inputs of a training program, which show the sizes of its batch and its sequence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.memory.batch_size.dims import BATCH, SEQUENCE, Dim, Dims, Factor, fixed_dims
from tensorsleuth.analyze.memory.batch_size.observed_shapes import ObservedShapes, Shape
from tensorsleuth.analyze.memory.batch_size.producers import EAGER, ProducerGraph, TensorKey
from tensorsleuth.core.catalog import Function, Instance
from tensorsleuth.core.dtypes import RESOURCE, dtype_of
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.ops.data_ops import DATASET_OUTPUTS
from tensorsleuth.core.ops.kinds import FEED
from tensorsleuth.trace.query.process_index import ProcessIndex

MAX_SAMPLED_CALLS = 20  # calls examined for a function's arguments
TRAINING_KINDS = ("train", "backward")


@dataclass(frozen=True)
class BatchInput:
    """A tensor from outside: from a dataset, or from Python."""

    shape: Shape
    is_integer: bool  # integers are tokens or labels
    varying: frozenset[int]  # dimensions with more than one recorded size


class BatchInputs:
    """Finds the inputs of one process."""

    def __init__(self, process_index: ProcessIndex, producer_graph: ProducerGraph, shapes: ObservedShapes) -> None:
        self._process_index = process_index
        self._catalogue = process_index.process.catalogue
        self._wiring = producer_graph
        self._shapes = shapes

    @cached_property
    def batch(self) -> int | None:
        """The first dimension of most inputs."""
        firsts = Counter(one.shape[0] for one in self.all if one.shape[0] > 1)
        return max(firsts, key=lambda size: (firsts[size], size)) if firsts else None

    @cached_property
    def sequence(self) -> int | None:
        """The second dimension of inputs with a sequence: tokens, rows of features, or inputs of varying length."""
        sizes = [one.shape[1] for one in self.all if self._is_sequence(one)]
        return max(sizes, default=None)

    def _is_sequence(self, one: BatchInput) -> bool:
        if len(one.shape) < 2 or one.shape[0] != self.batch or one.shape[1] < 2:
            return False
        return (
            1 in one.varying or (one.is_integer and len(one.shape) == 2) or (not one.is_integer and len(one.shape) == 3)
        )

    def dims(self, tensor_key: TensorKey) -> Dims | None:
        """Return the dimensions of an input."""
        one = self.input_at(tensor_key)
        if one is None or not one.shape or one.shape[0] != self.batch:
            return fixed_dims(one.shape) if one is not None else None
        names = (BATCH, SEQUENCE) if self._is_sequence(one) else (BATCH,)
        grown = (Dim((Factor(size, name),)) for size, name in zip(one.shape, names, strict=False))
        return (*grown, *fixed_dims(one.shape[len(names) :]))

    @cached_property
    def all(self) -> list[BatchInput]:
        """Return the inputs from datasets, else function arguments, else captures, else inputs of eager ops."""
        for found in (self._from_datasets(), self._passed(), self._captured(), self._fed()):
            known = [one for one in found if one.shape]
            if known:
                return known
        return []

    def input_at(self, tensor_key: TensorKey) -> BatchInput | None:
        """Return the input there, if its shape is known: recorded, else as the function was traced."""
        tensor, declared = self._wiring.tensor(tensor_key), self._declared(tensor_key)
        shape, varying = self._shapes.largest(tensor), self._shapes.varying_dims(tensor)
        if tensor_key[0] != EAGER and tensor_key[1] < 0:
            passed = self.argument(self._catalogue.instances[tensor_key[0]], -1 - tensor_key[1])
            seen = self._wiring.tensor(passed) if passed is not None else -1
            shape, varying = self._shapes.largest(seen), self._shapes.varying_dims(seen)
        if shape is None and declared is not None and -1 not in declared:
            shape = declared
        if shape is None or len(shape) != len(declared or shape):
            return None
        unknown = {at for at, size in enumerate(declared or ()) if size < 0}
        return BatchInput(shape, self._is_whole(tensor_key), varying | unknown)

    def _declared(self, tensor_key: TensorKey) -> Shape | None:
        """Return the shape in the graph, with -1 for any size."""
        node = self._wiring.node(tensor_key)
        if node is not None:
            shapes = node.attrs.get("output_shapes")
            known = shapes[tensor_key[2]] if isinstance(shapes, list) and tensor_key[2] < len(shapes) else None
            return tuple(map(int, known)) if known is not None else None
        shapes = self._wiring.function(tensor_key).argument_shapes if tensor_key[0] != EAGER else ()
        return shapes[-1 - tensor_key[1]] if -1 - tensor_key[1] < len(shapes) and tensor_key[0] != EAGER else None

    def _is_whole(self, tensor_key: TensorKey) -> bool:
        node = self._wiring.node(tensor_key)
        if node is not None:
            return is_integer_dtype(node.dtypes[tensor_key[2]])
        if tensor_key[0] == EAGER:
            return is_integer_dtype(int(self._process_index.process.events["dtype"][tensor_key[1]]))
        return is_integer_dtype(self._wiring.function(tensor_key).argument_dtypes[-1 - tensor_key[1]])

    def _from_datasets(self) -> Iterator[BatchInput]:
        for instance, function in self._catalogue.called_functions():
            for number, node in enumerate(function.nodes):
                if node.type in DATASET_OUTPUTS and instance.id not in self._catalogue.datasets:
                    keys = ((instance.id, number, output) for output in range(len(node.dtypes)))
                    yield from filter(None, map(self.input_at, keys))
        yield from self._from_eager_ops(DATASET_OUTPUTS)

    def _from_eager_ops(self, types: frozenset[str]) -> Iterator[BatchInput]:
        """Yield the first tensor of each line."""
        ops = [op for op in self._catalogue.eager.values() if op.type in types]
        tensors, places = np.unique(self._process_index.process.events["tensor"], return_index=True)
        for op in ops:
            begin, end = np.searchsorted(tensors, op.tensor_bounds)
            yield from filter(None, (self.input_at((EAGER, place, 0)) for place in places[begin:end].tolist()))

    def _trained(self) -> Iterator[tuple[Instance, Function]]:
        for instance, function in self._catalogue.called_functions():
            if instance.parent < 0 and function.kind in TRAINING_KINDS:
                yield instance, function

    def _passed(self) -> Iterator[BatchInput]:
        for instance, function in self._trained():
            for number in range(len(function.arguments)):
                if number not in function.captures and function.argument_dtypes[number] != RESOURCE:
                    yield from filter(None, [self.input_at((instance.id, -1 - number, 0))])

    def _captured(self) -> Iterator[BatchInput]:
        for instance, function in self._trained():
            for number, captured in function.captures.items():
                if "variable" not in captured and function.argument_dtypes[number] != RESOURCE:
                    yield from filter(None, [self.input_at((instance.id, -1 - number, 0))])

    def _fed(self) -> Iterator[BatchInput]:
        return self._from_eager_ops(frozenset([FEED]))

    def argument(self, instance: Instance, number: int) -> TensorKey | None:
        """Return the eager tensor that a function got as an argument; of several calls, the largest."""
        captured = self._catalogue.functions[instance.function].captures.get(number)
        uid = captured.get("uid") if captured is not None else None
        uids = [uid] if isinstance(uid, int) else self._uids(instance, number)
        keys = [key for key in map(self._wiring.key_of_eager, uids) if key is not None]
        return max(
            keys, key=lambda key: int(np.prod(self._shapes.largest(self._wiring.tensor(key)) or (0,))), default=None
        )

    def _uids(self, instance: Instance, number: int) -> list[int]:
        ops = [op.id for op in self._catalogue.eager.values() if op.instance == instance.id]
        calls = self._process_index.process.calls
        made = calls["call"][(calls["kind"] == CallKind.FUNCTION) & np.isin(calls["op"], ops)]
        given = [self._process_index.call_graphs.calls.inputs(int(call)) for call in made[:MAX_SAMPLED_CALLS]]
        return [uids[number] for uids in given if number < len(uids)]


def is_integer_dtype(dtype: int) -> bool:
    """Return whether a dtype is that of tokens or labels, as opposed to text, resources or booleans."""
    return dtype_of(dtype).name.startswith(("int", "uint"))
