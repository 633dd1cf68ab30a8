"""The ops that a process ran, each with its line, its layer and the tensor ids of its outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import TENSOR_ID_LIMIT, EagerOp, Function, Instance, Node, Site
from tensorsleuth.trace.process.layers import LayerLookup
from tensorsleuth.trace.process.process import ProcessTrace, TensorInfo

ARGUMENT = "Argument"  # the type of an argument of a function
_MAX_TABLE_IDS = 1 << 20  # programs with more ids have no table; few programs have so many
_MIN_IDS_FOR_TABLE = 1000  # below that many ids, a search is faster


@dataclass(frozen=True, slots=True)
class Op:
    """An op of the program: a node of a function (one for each call site of the function), or an eager op of one line.

    A gradient op has the line and the layer of the op that it differentiates.
    """

    type: str
    name: str  # the node's name; an eager op has its type as its name
    file: str | None
    line: int | None
    function: str | None  # the function that contains the line
    layer: str | None  # its name scopes, as the program named them
    outputs: int
    graph: str | None = None  # the traced function that contains it; None for an eager op
    differentiates: str | None = None  # the type of the forward op, if this is a gradient
    first_tensor: int = field(default=-1, repr=False)  # id of its first output
    process: int = field(default=0, repr=False)  # its index in `trace.processes`
    instance: int = field(default=-1, repr=False)  # the catalogue's number for the function at this call site
    node: int = field(default=-1, repr=False)  # its number in that function
    eager: int = field(default=-1, repr=False)  # its number among the eager ops


class OpIndex:
    """The ops of one process, in the order of their tensor ids."""

    def __init__(self, process: ProcessTrace, number: int = 0) -> None:
        self.process = process
        self._number = number
        self._catalogue = process.catalogue
        self._layers = LayerLookup(process.catalogue)

    @cached_property
    def ops(self) -> list[Op]:
        """Return all ops, and the arguments of functions."""
        ops = [op for instance in self._catalogue.instances.values() for op in self._of_instance(instance)]
        ops += [self._eager(op) for op in self._catalogue.eager.values()]
        return sorted(
            (op for op in ops if 0 <= op.first_tensor < TENSOR_ID_LIMIT and op.outputs >= 0),
            key=lambda op: op.first_tensor,
        )

    @cached_property
    def _makers(self) -> tuple[Array, Array, Array]:
        """Return the ops that have outputs: their numbers in `ops`, first and last ids."""
        places = [place for place, op in enumerate(self.ops) if op.outputs]
        firsts = [self.ops[place].first_tensor for place in places]
        lasts = [min(self.ops[place].first_tensor + self.ops[place].outputs, TENSOR_ID_LIMIT) - 1 for place in places]
        return np.array(places, np.int64), np.array(firsts, np.int64), np.array(lasts, np.int64)

    def op_numbers(self, tensors: Array) -> Array:
        """Return for each tensor id the number in `ops` of the op that computes it, -1 if unknown."""
        if len(tensors) < _MIN_IDS_FOR_TABLE or int(tensors.max()) >= len(self._number_table):
            return self._search(tensors)
        return self._number_table[tensors]

    @cached_property
    def _number_table(self) -> Array:
        """Return the ops as a table by id. To read a million rows from it is ten times faster than to search."""
        lasts = self._makers[2]
        return self._search(np.arange(min(int(lasts.max(initial=-1)) + 1, _MAX_TABLE_IDS)))

    def _search(self, tensors: Array) -> Array:
        places, firsts, lasts = self._makers
        if not len(places):
            return np.full(len(tensors), -1, np.int64)
        at = np.searchsorted(firsts, tensors, "right") - 1
        return np.where((at >= 0) & (tensors <= lasts[at]), places[at], -1)

    def node(self, instance: int, node: int) -> Op | None:
        """Return node number `node` of an instance as an op."""
        place = self.op_number(instance, node)
        return self.ops[place] if place >= 0 else None

    @cached_property
    def _op_numbers(self) -> dict[tuple[int, int], int]:
        return {(op.instance, op.node): place for place, op in enumerate(self.ops) if op.node >= 0}

    def op_number(self, instance: int, node: int) -> int:
        """Return the number in `ops` of a node of an instance, -1 if there is none."""
        return self._op_numbers.get((instance, node), -1)

    @cached_property
    def _by_eager(self) -> dict[int, Op]:
        return {op.eager: op for op in self.ops if op.eager >= 0}

    def eager(self, number: int) -> Op | None:
        """Return the eager op with that number in the catalogue."""
        return self._by_eager.get(number)

    def op_of(self, tensor_info: TensorInfo) -> Op | None:
        """Return the op that computes a tensor."""
        if tensor_info.eager is not None:
            return self.eager(tensor_info.eager.id)
        if tensor_info.instance is None or tensor_info.function is None:
            return None
        if tensor_info.node is not None:
            return self.node(tensor_info.instance.id, tensor_info.function.number(tensor_info.node))
        return next(
            (op for op in self._arguments if op.instance == tensor_info.instance.id and op.name == tensor_info.name),
            None,
        )

    @cached_property
    def _arguments(self) -> list[Op]:
        return [op for op in self.ops if op.type == ARGUMENT]

    # ---- from the catalogue

    def _of_instance(self, instance: Instance) -> Iterator[Op]:
        function = self._catalogue.functions.get(instance.function)
        if function is None:
            return
        around = self._layers.enclosing_layer(instance)
        for number, argument in enumerate(function.arguments):
            name, first = f"{function.name}/{argument}", instance.first_tensor + number
            place = (function.name, None, first, self._number, instance.id)
            yield Op(ARGUMENT, name, None, None, None, around, 1, *place)
        for number, node in enumerate(function.nodes):
            yield self._of_node(instance, function, number, node, around)

    def _of_node(self, instance: Instance, function: Function, number: int, node: Node, around: str | None) -> Op:
        forward = node.forward
        site = self._site(node.site, forward.site if forward else -1)
        return Op(
            node.type,
            node.name,
            *_line(site),
            self._layers.of_node(function, node) or around,
            len(node.dtypes),
            function.name,
            forward.type if forward else None,
            instance.first_tensor + node.first_output,
            self._number,
            instance.id,
            number,
        )

    def _eager(self, op: EagerOp) -> Op:
        forward = self._catalogue.eager.get(op.forward) if op.forward > 0 else None
        site = self._site(op.site, forward.site if forward else -1)
        kind = forward.type if forward else None
        layer, place = self._layers.of_eager(op), (op.first_tensor, self._number, op.instance, -1, op.id)
        return Op(op.type, op.type, *_line(site), layer, op.outputs, None, kind, *place)

    def _site(self, own: int, forward: int) -> Site | None:
        site = self._catalogue.sites.get(forward)
        return site if site is not None and site.frame is not None else self._catalogue.sites.get(own)


def _line(site: Site | None) -> tuple[str | None, int | None, str | None]:
    frame = site.frame if site is not None else None
    return (frame.file, frame.line, frame.function) if frame is not None else (None, None, None)
