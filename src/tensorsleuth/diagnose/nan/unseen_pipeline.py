"""The functions of a dataset that a session runs. Nothing in them has rows, but their graphs say what can go bad."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.core.catalog import Function, Node, Site
from tensorsleuth.core.ops.kinds import CAN_MAKE_BAD, EXTERNAL_SOURCES, PYTHON_FUNCTIONS, is_dataset
from tensorsleuth.core.ops.numerics import DIVISORS, ONLY_NAN_OPS
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.trace.dataflow.call_graph import CallGraphs, constant_of

MAX_NODES = 10_000
_HALF = (14, 19)  # bfloat16, float16


@dataclass(frozen=True)
class SuspectOp:
    """An op of a dataset's function that may have made a value bad."""

    type: str
    site: Site | None


@dataclass(frozen=True)
class _Place:
    """A node of a function that a session runs, or that makes its datasets."""

    function: Function
    number: int

    @property
    def node(self) -> Node:
        return self.function.nodes[self.number]

    def input(self, slot: int) -> _Place | None:
        inputs = self.node.inputs
        return _Place(self.function, inputs[slot][0]) if slot < len(inputs) and inputs[slot][0] >= 0 else None


class UnseenPipeline:
    """The datasets behind an iterator of a session, as far as the recorded graphs show them."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._catalogue = case.process.catalogue
        self._functions = {function.name: function for function in self._catalogue.functions.values()}

    @cached_property
    def _datasets(self) -> list[_Place]:
        """Return the datasets, the nearest first."""
        found: list[_Place] = []
        level = list(self._last_datasets())
        while level and len(found) < MAX_NODES:
            place = level.pop(0)
            if place not in found and is_dataset(place.node.type):
                found.append(place)
                inputs = (place.input(slot) for slot in range(len(place.node.inputs)))
                level += [one for one in inputs if one is not None]
        return found

    def _last_datasets(self) -> Iterator[_Place]:
        """Yield the datasets that the iterator was made of."""
        tensor = self._case.out.tensor
        if tensor.function is None or tensor.node is None:
            return
        iterator = _Place(tensor.function, tensor.function.number(tensor.node)).input(0)
        if iterator is None:
            return
        factory = self._functions.get(str(iterator.node.attrs.get("dataset_factory")))
        if factory is not None and factory.returns:
            yield _Place(factory, factory.returns[0][0])
        for function in self._functions.values():
            for number, node in enumerate(function.nodes):
                made = _Place(function, number).input(1) if node.type == "MakeIterator" else None
                dataset = _Place(function, number).input(0)
                if made is not None and made.node.name == iterator.node.name and dataset is not None:
                    yield dataset

    def __bool__(self) -> bool:
        return bool(self._datasets)

    @cached_property
    def suspects(self) -> list[SuspectOp]:
        """Return the ops in functions of the datasets that can make such a value, one for each line."""
        found: dict[object, SuspectOp] = {}
        for function in self._all_functions():
            for number in _ancestors_of_results(function):
                place = _Place(function, number)
                if self._can_make_it(place):
                    site = self._catalogue.sites.get(place.node.site)
                    found.setdefault(site.frame if site is not None else place, SuspectOp(place.node.type, site))
        return list(found.values())

    def _all_functions(self) -> list[Function]:
        todo = [name for place in self._datasets for name in _texts(place.node)]
        found: list[Function] = []
        while todo:
            function = self._functions.get(todo.pop(0))
            if function is not None and function not in found:
                found.append(function)
                todo += [name for node in function.nodes for name in _texts(node)]
        return found

    def _can_make_it(self, place: _Place) -> bool:
        node, out = place.node, self._case.out
        if node.type in PYTHON_FUNCTIONS or node.type in EXTERNAL_SOURCES:
            return True
        if node.type not in CAN_MAKE_BAD or (node.type in ONLY_NAN_OPS and not out.has_nan):
            return False
        if node.type == "Cast":
            return bool(node.dtypes) and node.dtypes[0] in _HALF
        divisor = place.input(DIVISORS[node.type]) if node.type in DIVISORS else None
        known = constant_of(divisor.node) if divisor is not None and divisor.node.type == "Const" else None
        return known is None or not all(known)

    @property
    def is_bad_from_start(self) -> bool | None:
        """Return whether the arrays hold NaN or infinities that the datasets were made of; None if that is unknown."""
        states = [self._is_bad(place, slot) for place, slot in self._source_inputs()]
        if any(states):
            return True
        return None if None in states or not states else False

    def source_site(self) -> Site | None:
        """Return the line of the array or the dataset that everything begins with."""
        site_numbers = (place.node.site for place in reversed(self._datasets))
        sites = (self._catalogue.sites.get(number) for number in site_numbers)
        return next((site for site in sites if site is not None and site.frame is not None), None)

    def _source_inputs(self) -> Iterator[tuple[_Place, int]]:
        """Yield the inputs of those datasets that take no other dataset."""
        for place in self._datasets:
            given = [place.input(slot) for slot in range(len(place.node.inputs))]
            if not any(one is not None and is_dataset(one.node.type) for one in given):
                yield from ((place, slot) for slot in range(len(given)))

    def _is_bad(self, place: _Place, slot: int) -> bool | None:
        source = place.input(slot)
        if source is not None and source.node.type == "Const":
            values = constant_of(source.node)
            bad = bool(source.node.attrs.get("nan") or source.node.attrs.get("infinite"))
            return bad or (values is not None and not all(map(math.isfinite, values)))
        argument = -1 - place.node.inputs[slot][0]
        return self._is_fed_bad(place.function, argument) if argument >= 0 else None

    def _is_fed_bad(self, function: Function, argument: int) -> bool | None:
        """Return whether a placeholder was fed a bad array, in the run that made the iterator."""
        graphs: CallGraphs = self._case.finder.call_graphs
        instances = {one.id for one in self._catalogue.instances.values() if one.function == function.id}
        ops = {op.id for op in self._catalogue.eager.values() if op.instance in instances}
        calls = self._case.process.calls
        for row in calls:
            uids = graphs.calls.inputs(int(row["call"])) if int(row["op"]) in ops else []
            fed = graphs.by_uid(uids[argument]) if argument < len(uids) else None
            if fed is not None and fed.has_health:
                return fed.bad
        return None


def _texts(node: Node) -> Iterator[str]:
    yield from (value for value in node.attrs.values() if isinstance(value, str))


def _ancestors_of_results(function: Function) -> list[int]:
    """Return the nodes that the results of a function are computed from, in the order of the graph."""
    todo = [node for node, _ in function.returns]
    found: set[int] = set()
    while todo:
        number = todo.pop()
        if number >= 0 and number not in found:
            found.add(number)
            todo += [source for source, _ in function.nodes[number].inputs]
    return sorted(found)
