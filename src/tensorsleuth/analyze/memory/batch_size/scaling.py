"""The dimensions of each tensor that grow with the batch and with the sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from tensorsleuth.analyze.memory.batch_size.dims import BATCH, SEQUENCE, Dim, Dims, Factor, fixed_dims, growth_power
from tensorsleuth.analyze.memory.batch_size.input_batches import BatchInputs
from tensorsleuth.analyze.memory.batch_size.observed_shapes import ObservedShapes, Shape
from tensorsleuth.analyze.memory.batch_size.producers import EAGER, ProducerGraph, TensorKey
from tensorsleuth.analyze.memory.batch_size.shape_rules import OpApplication, dims_of
from tensorsleuth.analyze.memory.lifetimes import BufferLifetime
from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.core.layout.rows import BufferKind
from tensorsleuth.core.ops.data_ops import DATASET_OUTPUTS
from tensorsleuth.core.ops.kinds import FEED
from tensorsleuth.core.ops.products import CURRENT_MATMULS
from tensorsleuth.core.ops.views import SHAPE_INPUTS
from tensorsleuth.trace.dataflow.observed_tensor import uid_of
from tensorsleuth.trace.query.process_index import ProcessIndex


class TensorScaling:
    """Follows the inputs through the ops of one process. A tensor is examined when it is needed."""

    def __init__(self, process_index: ProcessIndex) -> None:
        self._process_index = process_index
        self._shapes = ObservedShapes(process_index.process)
        self._producers = ProducerGraph(process_index)
        self._batch_inputs = BatchInputs(process_index, self._producers, self._shapes)
        self._known: dict[TensorKey, Dims | None] = {}
        self._tensors: dict[tuple[int, int], TensorKey] = {}

    @property
    def batch(self) -> int | None:
        return self._batch_inputs.batch

    @cached_property
    def sequence(self) -> int | None:
        """The length of the sequence; None also if weights have this length, since then it cannot change."""
        length = self._batch_inputs.sequence
        return length if length is not None and not any(map(self._is_bound, self._products())) else None

    def _products(self) -> Iterator[TensorKey]:
        for instance, function in self._process_index.process.catalogue.called_functions():
            for number, node in enumerate(function.nodes):
                if node.type in CURRENT_MATMULS and len(node.inputs) == 2:
                    yield instance.id, number, 0

    def _is_bound(self, product: TensorKey) -> bool:
        """Return whether a product multiplies the sequence with a variable."""
        node, sources = self._producers.node(product), self._producers.inputs(product)
        if node is None or not any(one is not None and self._is_variable(one) for one in sources):
            return False
        given = [self._walk(one) if one is not None else None for one in sources]
        return any(len(dims) > 1 and dims[at].power(SEQUENCE) for dims, at in _summed_dims(node.attrs, given))

    def _is_variable(self, tensor_key: TensorKey) -> bool:
        node = self._producers.node(tensor_key)
        return node is not None and node.type == "ReadVariableOp"

    def powers(self, buffer_lifetime: BufferLifetime) -> tuple[int, int]:
        """Return the powers with which a lifetime's memory grows with the batch and with the sequence."""
        dims = self.dims(buffer_lifetime)
        return (growth_power(dims, BATCH), growth_power(dims, SEQUENCE)) if dims is not None else (0, 0)

    def dims(self, buffer_lifetime: BufferLifetime) -> Dims | None:
        row = self._process_index.process.buffers[buffer_lifetime.row]
        key = self._key(row) if buffer_lifetime.variable is None else None
        return self._walk(key) if key is not None else None

    def _key(self, row: Any) -> TensorKey | None:
        tensor = int(row["tensor"])
        if row["kind"] == BufferKind.EAGER:
            # All tensors of one line and one shape grow alike.
            found = self._tensors.get((tensor, int(row["shape"]))) or self._producers.key_of_eager(uid_of(row))
            if found is not None:
                self._tensors[tensor, int(row["shape"])] = found
            return found
        described = self._process_index.process.tensor(tensor)
        op = self._process_index.op_index.op_of(described) if described is not None else None
        return self._producers.key_of_output(op, tensor) if op is not None else None

    def _walk(self, wanted: TensorKey) -> Dims | None:
        """Return a tensor's dimensions after those of its inputs. A loop does not wait for its own results."""
        waiting, begun = [wanted], set[TensorKey]()
        while waiting:
            key = waiting[-1]
            if key not in self._known and key not in begun:
                begun.add(key)
                waiting += [one for one in self._sources(key) if one is not None and one not in self._known]
                continue
            waiting.pop()
            if key not in self._known:
                self._known[key] = self._varied(key, self._find(key))
        return self._known[wanted]

    def _sources(self, tensor_key: TensorKey) -> list[TensorKey | None]:
        if tensor_key[0] != EAGER and tensor_key[1] < 0:
            return [
                self._batch_inputs.argument(
                    self._process_index.process.catalogue.instances[tensor_key[0]], -1 - tensor_key[1]
                )
            ]
        return self._producers.inputs(tensor_key)

    # ---- one tensor

    def _find(self, tensor_key: TensorKey) -> Dims | None:
        shape = self._shapes.largest(self._producers.tensor(tensor_key))
        if tensor_key[0] == EAGER:
            described = self._process_index.process.tensor(self._producers.tensor(tensor_key))
            return self._made(tensor_key, described.type if described is not None else "?", shape, {})
        if tensor_key[1] < 0:
            return self._argument(tensor_key)
        node = self._producers.function(tensor_key).nodes[tensor_key[1]]
        if node.type == "Const":
            return fixed_dims(_shape_in(node.attrs) or ())
        return self._made(tensor_key, node.type, shape, node.attrs)

    def _argument(self, tensor_key: TensorKey) -> Dims | None:
        """Return the argument of a function that Python called: a variable, or the passed tensor."""
        function, number = self._producers.function(tensor_key), -1 - tensor_key[1]
        captured = function.captures.get(number, {})
        if function.argument_dtypes[number] == RESOURCE:
            return fixed_dims(_shape_in(captured) or ()) if "variable" in captured else None
        passed = self._sources(tensor_key)[0]
        known = self._known.get(passed) if passed is not None else None
        return known or self._batch_inputs.dims(tensor_key)

    def _made(self, tensor_key: TensorKey, kind: str, shape: Shape | None, attrs: dict[str, Any]) -> Dims | None:
        if tensor_key[0] in self._process_index.process.catalogue.datasets and shape is not None:
            return self._guess(shape)
        if kind in DATASET_OUTPUTS or kind == FEED:
            return self._batch_inputs.dims(tensor_key)
        sources = self._producers.inputs(tensor_key)
        given = [self._known.get(one) if one is not None else None for one in sources]
        op_application = OpApplication(
            kind, tensor_key[2], given, shape, attrs, [self._constant(one) for one in sources]
        )
        told = SHAPE_INPUTS.get(kind)
        if told is not None and told < len(sources):
            op_application = replace(op_application, shape_like=self._shape_source_dims(sources[told]))
        found = dims_of(op_application)
        return found if found is not None or shape is None else self._guess(shape)

    def _constant(self, tensor_key: TensorKey | None) -> tuple[int, ...] | None:
        """Return small integers that the graph contains: axes, orders, shapes."""
        node = self._producers.node(tensor_key) if tensor_key is not None else None
        if node is not None and tensor_key is not None and node.type == "InvertPermutation":
            order = self._constant(self._producers.inputs(tensor_key)[0]) or ()
            return tuple(sorted(range(len(order)), key=order.__getitem__)) or None
        if node is None or node.type != "Const" or "value" not in node.attrs:
            return None
        try:
            return tuple(int(value) for value in node.attrs["value"])
        except ValueError:
            return None

    def _shape_source_dims(self, tensor_key: TensorKey | None) -> Dims | None:
        node = self._producers.node(tensor_key) if tensor_key is not None else None
        source = (
            self._producers.inputs(tensor_key)[0] if node is not None and tensor_key and node.type == "Shape" else None
        )
        return self._known.get(source) if source is not None else None

    def _guess(self, shape: Shape) -> Dims:
        """Return a guess for a tensor of unknown origin: a leading size equal to the batch is the batch."""
        order = {BATCH: self.batch, SEQUENCE: self._batch_inputs.sequence}
        for symbols in ((BATCH, SEQUENCE), (SEQUENCE, BATCH), (BATCH,)):
            if shape[: len(symbols)] == tuple(order[one] for one in symbols):
                grown = (Dim((Factor(size, one),)) for size, one in zip(shape, symbols, strict=False))
                return (*grown, *fixed_dims(shape[len(symbols) :]))
        return fixed_dims(shape)

    def _varied(self, tensor_key: TensorKey, dims: Dims | None) -> Dims | None:
        """Return the dimensions of a tensor with several recorded sizes: the first of these grows with the batch."""
        varying = self._shapes.varying_dims(self._producers.tensor(tensor_key))
        if not dims or not varying:
            return dims
        symbols = {at: BATCH if at == 0 else SEQUENCE for at in varying}
        return tuple(
            Dim((Factor(one.size, symbols[at]),)) if at in varying and not one.grows else one
            for at, one in enumerate(dims)
        )


def _summed_dims(attrs: dict[str, Any], given: list[Dims | None]) -> list[tuple[Dims, int]]:
    """Return both factors of a product, each with its summed dimension."""
    flip_a = attrs.get("transpose_a", attrs.get("adj_x"))
    flip_b = attrs.get("transpose_b", attrs.get("adj_y"))
    return [(given[0] or (), -2 if flip_a else -1), (given[1] or (), -1 if flip_b else -2)]


def _shape_in(described: dict[str, Any]) -> Shape | None:
    shape = described.get("shape")
    known = isinstance(shape, list) and all(isinstance(size, int) for size in shape)
    return tuple(shape) if known and isinstance(shape, list) else None
