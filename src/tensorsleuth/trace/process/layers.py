"""The Keras layer, or name scope, of each op of a process."""

from __future__ import annotations

from tensorsleuth.core.catalog import Catalogue, EagerOp, Function, Instance, Node
from tensorsleuth.core.ops.layer_names import layer_of

MAX_NESTING = 100
EAGER_GRAPH = -1  # in place of a graph number


class LayerLookup:
    """Finds layers in the names of nodes, and in the scopes of eager ops."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def of_node(self, function: Function, node: Node) -> str | None:
        """Return the layer of a node by its own name; a gradient has the layer of its forward op."""
        forward = node.forward
        if forward is not None:
            return layer_of(forward.name, self._catalogue.scopes.get(forward.graph))
        return layer_of(node.name, self._catalogue.scopes.get(function.graph))

    def of_eager(self, op: EagerOp) -> str | None:
        """Return the layer of an eager op from the scope that Python was in."""
        forward = self._catalogue.eager.get(op.forward) if op.forward > 0 else None
        one = forward or op
        return layer_of(one.scope + one.type, self._catalogue.scopes.get(EAGER_GRAPH)) if one.instance < 0 else None

    def enclosing_layer(self, instance: Instance) -> str | None:
        """Return the layer of the nearest calling node that has one."""
        for _ in range(MAX_NESTING):
            parent = self._catalogue.instances.get(instance.parent)
            caller = self._catalogue.functions.get(parent.function) if parent is not None else None
            if parent is None or caller is None or not 0 <= instance.node < len(caller.nodes):
                return None
            layer = self.of_node(caller, caller.nodes[instance.node])
            if layer is not None:
                return layer
            instance = parent
        return None
