"""The program's own names for the name scopes that it opens.

TensorFlow appends a number to a scope name that a graph already has. Keras 3 calls a model more than once in one graph,
so the layer `encoder/dense_1` may get the scope `encoder_1/dense_1_1`. Eager ops have no node names, but the scope is
known when an op first runs at a place.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.keras import internals as keras
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

EAGER_GRAPH = -1  # in place of the number of a graph
MAX_EAGER_SCOPES = 4096  # a bound, because a program may create numbered scopes without end


class NameScopes:
    """The program's names of scopes, in graphs and in eager code."""

    def __init__(self, catalog: CatalogWriter, sink: Sink) -> None:
        self._catalog = catalog
        self.tell = sink.set_scope
        self._graphs: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
        self.numbers: dict[str | None, int] = {"": 0, None: 0}  # of scopes in eager code
        self.named_already: set[str] = set()
        self._eager_paths: dict[str, str] = {}

    # ---- graphs

    def opened(self, asked: str | None, scope: str | None, frame: Any) -> None:
        """Note a scope in a graph: the requested name, TensorFlow's name for it, and the frame that opened it."""
        if not asked or asked.endswith("/") or not scope:
            return
        scope, graph = scope.rstrip("/"), tf.ops.get_default_graph()
        path = _program_name(asked, scope, frame, self.names_in(graph))
        if path != scope:
            self._graphs.setdefault(graph, {})[scope] = path

    def names_in(self, graph: Any) -> Mapping[str, str]:
        """Return the names in a graph and its outer graphs, without a copy, because a large model has thousands."""
        maps: list[dict[str, str]] = []
        while graph is not None:
            maps += [self._graphs[graph]] if graph in self._graphs else []
            graph = getattr(graph, "outer_graph", None)
        return ChainMap(*maps)

    def describe(self, graph: Any, key: int, nodes: Iterable[str]) -> None:
        """Record the scopes of a graph that contain its nodes."""
        known = self.names_in(graph) if graph is not None else {}
        if known:
            used = {scope for name in nodes for scope in _prefixes(name)}
            self._catalog.scopes(key, {scope: known[scope] for scope in used if scope in known})

    # ---- eager code

    def entered(self, scope: str | None) -> None:
        """Note that the eager code of this thread has entered or left a scope."""
        scope = scope or ""
        number = self.numbers.get(scope)
        if number is None and len(self.numbers) < MAX_EAGER_SCOPES:
            number = self.numbers[scope] = len(self.numbers)
        self.tell(number or 0)

    def named(self, asked: str | None, scope: str | None, frame: Any) -> None:
        """Record the program's name of an eager scope if it differs from TensorFlow's."""
        if not scope or not asked or asked.endswith("/") or len(self.named_already) >= MAX_EAGER_SCOPES:
            return
        self.named_already.add(scope)
        scope = scope.rstrip("/")
        path = _program_name(asked, scope, frame, self._eager_paths)
        if path != scope:
            self._eager_paths[scope] = path
            self._catalog.scopes(EAGER_GRAPH, {scope: path})

    @property
    def eager_names(self) -> Mapping[str, str]:
        """Return the program's names of eager scopes that TensorFlow names differently."""
        return self._eager_paths

    @property
    def eager(self) -> str:
        """Return the current scope of eager code in this thread."""
        scope = tf.eager_scope()
        return scope if scope in self.numbers else ""


def _program_name(asked: str, scope: str, frame: Any, known: Mapping[str, str]) -> str:
    """Return the program's name of a scope; empty if TensorFlow opened it for the parts of an op."""
    around = _translated("/".join(scope.split("/")[: -asked.count("/") - 1]), known)
    while frame.f_code.co_name == "__enter__" and frame.f_back is not None:  # scopes of Keras, and older ones
        frame = frame.f_back
    if tf.opens_scope_of_op(frame):
        return around
    return keras.scope_owner(frame, asked) or "/".join(filter(None, (around, asked)))


def _translated(scope: str, known: Mapping[str, str]) -> str:
    """Return a scope with its longest known prefix replaced by the program's name for it."""
    for prefix in reversed(_prefixes(f"{scope}/")):
        if prefix in known:
            return known[prefix] + scope[len(prefix) :]
    return scope


def _prefixes(name: str) -> list[str]:
    return [name[:at] for at, letter in enumerate(name) if letter == "/" and at]
