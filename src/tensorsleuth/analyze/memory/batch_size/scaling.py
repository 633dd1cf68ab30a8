"""The dimensions of each tensor that grow with the batch and with the sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from tensorsleuth.analyze.memory.batch_size.dims import BATCH, SEQUENCE, Dim, Dims, Factor, fixed, power
from tensorsleuth.analyze.memory.batch_size.input_batches import ITERATORS, Deliveries
from tensorsleuth.analyze.memory.batch_size.observed_shapes import SeenShapes, Shape
from tensorsleuth.analyze.memory.batch_size.producers import EAGER, Key, Wiring
from tensorsleuth.analyze.memory.batch_size.shape_rules import Step, dims_of
from tensorsleuth.analyze.memory.lifetimes import Life
from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.core.layout.rows import BufferKind
from tensorsleuth.core.ops.kinds import FEED
from tensorsleuth.trace.dataflow.observed import uid_of
from tensorsleuth.trace.query.process_index import Asked

# Ops that are told a shape, and by which of their inputs.
_TOLD = {"Reshape": 1, "BroadcastTo": 1, "Fill": 0, "RandomUniform": 0, "RandomStandardNormal": 0, "TruncatedNormal": 0}
_TOLD |= {"StatelessRandomUniformV2": 0, "StatelessRandomNormalV2": 0, "StridedSliceGrad": 0, "Empty": 0}
_PRODUCTS = frozenset(["MatMul", "BatchMatMulV2", "BatchMatMulV3"])


class Growing:
    """Walks from what is delivered through the ops of one process; a tensor is looked at when it is asked about."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._shapes = SeenShapes(asked.process)
        self._wiring = Wiring(asked)
        self._deliveries = Deliveries(asked, self._wiring, self._shapes)
        self._known: dict[Key, Dims | None] = {}
        self._tensors: dict[tuple[int, int], Key] = {}

    @property
    def batch(self) -> int | None:
        return self._deliveries.batch

    @cached_property
    def sequence(self) -> int | None:
        """None also where weights are as long as it is: then it cannot be another."""
        length = self._deliveries.sequence
        return length if length is not None and not any(map(self._is_bound, self._products())) else None

    def _products(self) -> Iterator[Key]:
        for instance, function in self._asked.process.catalogue.running():
            for number, node in enumerate(function.nodes):
                if node.type in _PRODUCTS and len(node.inputs) == 2:
                    yield instance.id, number, 0

    def _is_bound(self, product: Key) -> bool:
        """Is the sequence multiplied with a variable."""
        node, sources = self._wiring.node(product), self._wiring.inputs(product)
        if node is None or not any(one is not None and self._is_variable(one) for one in sources):
            return False
        given = [self._walk(one) if one is not None else None for one in sources]
        return any(len(dims) > 1 and dims[at].power(SEQUENCE) for dims, at in _summed(node.attrs, given))

    def _is_variable(self, key: Key) -> bool:
        node = self._wiring.node(key)
        return node is not None and node.type == "ReadVariableOp"

    def powers(self, life: Life) -> tuple[int, int]:
        """Return how often the memory of a life grows with the batch, and with the sequence."""
        dims = self.dims(life)
        return (power(dims, BATCH), power(dims, SEQUENCE)) if dims is not None else (0, 0)

    def dims(self, life: Life) -> Dims | None:
        row = self._asked.process.buffers[life.row]
        key = self._key(row) if life.variable is None else None
        return self._walk(key) if key is not None else None

    def _key(self, row: Any) -> Key | None:
        tensor = int(row["tensor"])
        if row["kind"] == BufferKind.EAGER:
            # Of one place in the program and one shape, each tensor grows as the others do.
            found = self._tensors.get((tensor, int(row["shape"]))) or self._wiring.eager(uid_of(row))
            if found is not None:
                self._tensors[tensor, int(row["shape"])] = found
            return found
        described = self._asked.process.tensor(tensor)
        op = self._asked.index.of(described) if described is not None else None
        return self._wiring.made(op, tensor) if op is not None else None

    def _walk(self, wanted: Key) -> Dims | None:
        """Yield inputs before outputs; a loop does not wait for its own results."""
        waiting, begun = [wanted], set[Key]()
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

    def _sources(self, key: Key) -> list[Key | None]:
        if key[0] != EAGER and key[1] < 0:
            return [self._deliveries.argument(self._asked.process.catalogue.instances[key[0]], -1 - key[1])]
        return self._wiring.inputs(key)

    # ---- one tensor

    def _find(self, key: Key) -> Dims | None:
        shape = self._shapes.of(self._wiring.tensor(key))
        if key[0] == EAGER:
            described = self._asked.process.tensor(self._wiring.tensor(key))
            return self._made(key, described.type if described is not None else "?", shape, {})
        if key[1] < 0:
            return self._argument(key)
        node = self._wiring.function(key).nodes[key[1]]
        if node.type == "Const":
            return fixed(_shape_in(node.attrs) or ())
        return self._made(key, node.type, shape, node.attrs)

    def _argument(self, key: Key) -> Dims | None:
        """Return the argument of a function that Python called: a variable, or the passed tensor."""
        function, number = self._wiring.function(key), -1 - key[1]
        captured = function.captures.get(number, {})
        if function.argument_dtypes[number] == RESOURCE:
            return fixed(_shape_in(captured) or ()) if "variable" in captured else None
        passed = self._sources(key)[0]
        known = self._known.get(passed) if passed is not None else None
        return known or self._deliveries.dims(key)

    def _made(self, key: Key, kind: str, shape: Shape | None, attrs: dict[str, Any]) -> Dims | None:
        if key[0] in self._asked.process.catalogue.datasets and shape is not None:
            return self._guess(shape)
        if kind in ITERATORS or kind == FEED:
            return self._deliveries.dims(key)
        sources = self._wiring.inputs(key)
        given = [self._known.get(one) if one is not None else None for one in sources]
        step = Step(kind, key[2], given, shape, attrs, [self._constant(one) for one in sources])
        told = _TOLD.get(kind)
        if told is not None and told < len(sources):
            step = replace(step, shape_like=self._shape_of_what(sources[told]))
        found = dims_of(step)
        return found if found is not None or shape is None else self._guess(shape)

    def _constant(self, key: Key | None) -> tuple[int, ...] | None:
        """Small integers that are written down in the graph: axes, orders, shapes."""
        node = self._wiring.node(key) if key is not None else None
        if node is not None and key is not None and node.type == "InvertPermutation":
            order = self._constant(self._wiring.inputs(key)[0]) or ()
            return tuple(sorted(range(len(order)), key=order.__getitem__)) or None
        if node is None or node.type != "Const" or "value" not in node.attrs:
            return None
        try:
            return tuple(int(value) for value in node.attrs["value"])
        except ValueError:
            return None

    def _shape_of_what(self, key: Key | None) -> Dims | None:
        node = self._wiring.node(key) if key is not None else None
        source = self._wiring.inputs(key)[0] if node is not None and key and node.type == "Shape" else None
        return self._known.get(source) if source is not None else None

    def _guess(self, shape: Shape) -> Dims:
        """Return the guess for a tensor of unknown origin: a leading size equal to the batch is the batch."""
        order = {BATCH: self.batch, SEQUENCE: self._deliveries.sequence}
        for symbols in ((BATCH, SEQUENCE), (SEQUENCE, BATCH), (BATCH,)):
            if shape[: len(symbols)] == tuple(order[one] for one in symbols):
                grown = (Dim((Factor(size, one),)) for size, one in zip(shape, symbols, strict=False))
                return (*grown, *fixed(shape[len(symbols) :]))
        return fixed(shape)

    def _varied(self, key: Key, dims: Dims | None) -> Dims | None:
        """Return growth for a tensor with several recorded sizes, whatever the ops say: the first with the batch."""
        varying = self._shapes.varying(self._wiring.tensor(key))
        if not dims or not varying:
            return dims
        symbols = {at: BATCH if at == 0 else SEQUENCE for at in varying}
        return tuple(
            Dim((Factor(one.size, symbols[at]),)) if at in varying and not one.grows else one
            for at, one in enumerate(dims)
        )


def _summed(attrs: dict[str, Any], given: list[Dims | None]) -> list[tuple[Dims, int]]:
    """Both sides of a product, and which dimension is summed over."""
    flip_a = attrs.get("transpose_a", attrs.get("adj_x"))
    flip_b = attrs.get("transpose_b", attrs.get("adj_y"))
    return [(given[0] or (), -2 if flip_a else -1), (given[1] or (), -1 if flip_b else -2)]


def _shape_in(described: dict[str, Any]) -> Shape | None:
    shape = described.get("shape")
    known = isinstance(shape, list) and all(isinstance(size, int) for size in shape)
    return tuple(shape) if known and isinstance(shape, list) else None
