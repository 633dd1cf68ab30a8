"""Variables written in functions whose inside was not recorded, such as compiled ones that were not replayed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tensorsleuth.core.catalog import Catalogue, Function, Node
from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.core.ops.kinds import BRANCHES, writes_variables


class UnseenWrites:
    """Finds the writes in the nodes of functions."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._written: dict[int, frozenset[int]] = {}

    @cached_property
    def _by_name(self) -> dict[str, Function]:
        return {function.name: function for function in self._catalogue.functions.values()}

    def written_by(self, name: str) -> frozenset[int]:
        """Return the arguments of a function that are variables written by it, or by a function that it calls."""
        function = self._by_name.get(name)
        return self._written_arguments(function) if function is not None else frozenset()

    def written_at(self, node: Node) -> frozenset[int]:
        """Return the inputs of a node that are variables written by the functions it calls."""
        shift = 1 if node.type in BRANCHES else 0
        return frozenset(at + shift for name in self._called(node) for at in self.written_by(name))

    def _written_arguments(self, function: Function) -> frozenset[int]:
        known = self._written.get(function.id)
        if known is None:
            self._written[function.id] = frozenset()  # placeholder during the search: functions may call each other
            known = self._written[function.id] = frozenset(self._arguments(function))
        return known

    def _arguments(self, function: Function) -> Iterator[int]:
        for node in function.nodes:
            written = range(len(node.inputs)) if writes_variables(node.type) else self.written_at(node)
            for at in written:
                source = node.inputs[at][0] if at < len(node.inputs) else 0
                if source < 0 and function.argument_dtypes[-1 - source] == RESOURCE:
                    yield -1 - source

    def _called(self, node: Node) -> list[str]:
        return [value for value in node.attrs.values() if isinstance(value, str) and value in self._by_name]
