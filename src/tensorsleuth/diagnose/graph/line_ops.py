"""The ops of a type that a line of the program made, called or runs: their layer, and when the first of them ran."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.core.catalog import Frame, Instance, Node
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.source_lines import fit_position
from tensorsleuth.trace.process.layers import LayerLookup
from tensorsleuth.trace.process.process import ProcessTrace

MAX_NESTING = 100
_CALLS = [int(CallKind.OP), int(CallKind.FUNCTION)]


class LineOps:
    """The ops of one type that a finding at a line is about."""

    def __init__(self, process: ProcessTrace, frame: Frame, op: str) -> None:
        self._process = process
        self._catalogue = process.catalogue
        self._frame = frame
        self._op = op
        self._layers = LayerLookup(process.catalogue)
        self._eager = {one.id: one for one in process.catalogue.eager.values() if self._is_here(one.site)}
        self._nodes = list(self._found_nodes())

    def layer(self) -> str | None:
        """Return the layer of all of them; None if they have several, or one has none."""
        found = {self._layer(instance, node) for instance, node in self._nodes}
        return found.pop() if len(found) == 1 else None

    def position(self) -> dict[str, Any]:
        """Return the position in a Keras loop at which the first of them ran, as fields of a finding."""
        return fit_position(self._process, self.first_call) if self.first_call is not None else {}

    @cached_property
    def first_call(self) -> int | None:
        """Return the first call that ran one of them, in training if they train."""
        roots = {self._root(instance) for instance, _ in self._nodes}
        roots = (roots & self._process.cached(TrainingGraph).roots.keys()) or roots
        eager = self._catalogue.eager.values()
        ops = {one.id for one in eager if one.instance in roots or (one.id in self._eager and one.type == self._op)}
        calls = self._process.calls
        mine = calls["call"][np.isin(calls["kind"], _CALLS) & np.isin(calls["op"], [*ops])]
        return int(mine.min()) if len(mine) else None

    def _found_nodes(self) -> Iterator[tuple[Instance, Node]]:
        called = {one.instance for one in self._eager.values()}
        for instance, function in self._catalogue.called_functions():
            nodes = [node for node in function.nodes if node.type == self._op and node.forward is None]
            is_called_here = bool(nodes) and self._root(instance) in called
            for node in nodes:
                if is_called_here or self._is_here(node.site) or self._is_of_layer(instance, node):
                    yield instance, node

    def _is_here(self, site: int) -> bool:
        found = self._catalogue.sites.get(site)
        return found is not None and found.frame is not None and found.frame in (self._frame, self._frame.shown_at)

    def _is_of_layer(self, instance: Instance, node: Node) -> bool:
        """Return whether the line made the layer of a node. The path of a variable does not begin with the model."""
        layer = self._layer(instance, node) if self._frame.layer else None
        return layer is not None and f"/{layer}".endswith(f"/{self._frame.layer}")

    def _layer(self, instance: Instance, node: Node) -> str | None:
        function = self._catalogue.functions[instance.function]
        return self._layers.of_node(function, node) or self._layers.enclosing_layer(instance)

    def _root(self, instance: Instance) -> int:
        for _ in range(MAX_NESTING):
            parent = self._catalogue.instances.get(instance.parent)
            if parent is None:
                break
            instance = parent
        return instance.id
