"""Keeps the watched copy of every function that runs, made the first time it is called."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tensorsleuth.capture import tf
from tensorsleuth.capture.definition import Definition, called_functions, is_compiled, read_definition
from tensorsleuth.capture.describe import Describer
from tensorsleuth.capture.instrument import Prober, Probing, Selection, add_call_argument
from tensorsleuth.capture.optimized import WORTH_OPTIMIZING
from tensorsleuth.model import ops
from tensorsleuth.trace.catalog_writer import CatalogWriter

MAX_DEPTH = 64
MAX_NODES = 1_000_000  # in all copies together; beyond it functions run unwatched, and that is said


@dataclass(frozen=True, slots=True)
class Watched:
    """A function as it will be run."""

    name: str  # of the copy
    instance: int
    first: int  # its first tensor: that of its first argument
    kind: str  # train, backward, write or plain


_UNKNOWN = Watched("", -1, -1, "")


@dataclass(frozen=True, slots=True)
class _Known:
    """A function that has been catalogued."""

    id: int
    definition: Definition
    kind: str


class Functions:
    """Finds, or makes, the watched copy of a function by its name."""

    def __init__(
        self, catalog: CatalogWriter, describer: Describer, selection: Selection, session: int, prober: Prober
    ) -> None:
        self._catalog = catalog
        self._describer = describer
        self._selection = selection
        self._session = session
        self._prober = prober
        self._lock = threading.RLock()
        self._roots: dict[tuple[str, bool], Watched | None] = {}
        self._closed = False
        self._known: dict[str, _Known] = {}
        self._copies: dict[str, list[str]] = {}
        self._nodes = 0
        self._running = 0  # calls under way
        self._doomed: list[str] = []  # copies to take away when none is
        self._passed_over: set[str] = set()  # functions that the graph optimiser did not see
        self._using = prober  # for the function that is being watched
        self._root: str | None = None  # the function that is being watched, where Python calls it

    def watched(self, name: str, find: Callable[[], Any], joined: bool = True) -> Watched | None:
        """The copy to run instead of `name`; None where it has to run as it is. `find` gives its Python graph."""
        key = (name, joined)
        found = self._roots.get(key, _UNKNOWN)  # once: another thread may forget it
        if found is _UNKNOWN:
            with self._lock:
                found = self._roots.get(key, _UNKNOWN)
                if found is _UNKNOWN:
                    found = None if self._closed else self._watch_root(name, find(), joined)
                    self._roots[key] = found
        return found

    def ran(self, name: str, watched: Watched) -> bool:
        """A copy has run for the first time: were its probes in it?"""
        if name in self._passed_over or not tf.optimizer_is_on() or self._prober.took_effect(watched.name):
            return True
        self._passed_over.add(name)
        self.forget(name)
        self._catalog.not_covered(f"the first call of {name}", "the graph optimiser did not see it")
        return False

    def refuse(self, name: str, why: str) -> None:
        """From now on run `name` as it is."""
        self.forget(name)
        self._roots[(name, True)] = None
        self._catalog.not_covered(f"the inside of {name}", why)

    def forget(self, name: str) -> None:
        """TensorFlow dropped a function: drop its copies too."""
        with self._lock:
            for joined in (True, False):
                self._roots.pop((name, joined), None)
            self._known.pop(name, None)
            self._doomed += self._copies.pop(name, [])
        self._remove_doomed()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While a copy may be running: none is taken away."""
        self.began()
        try:
            yield
        finally:
            self.ended()

    def began(self) -> None:
        with self._lock:
            self._running += 1

    def ended(self) -> None:
        with self._lock:
            self._running -= 1
        if self._doomed:
            self._remove_doomed()

    def _remove_doomed(self) -> None:
        with self._lock:
            if self._running:
                return
            doomed, self._doomed = self._doomed, []
        for copy in doomed:
            self._prober.forget(copy)
            tf.remove_function(copy)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        for name in list(self._copies):
            self.forget(name)

    def _watch_root(self, name: str, graph: Any, joined: bool) -> Watched | None:
        self._copies.setdefault(name, [])
        self._root = name if joined else None
        self._using = self._prober.otherwise() if self._is_passed_over(name, joined) else self._prober
        return self._watch(name, graph, parent=-1, node=-1, path=(name,), joined=joined)

    def _is_passed_over(self, name: str, joined: bool) -> bool:
        """Will the graph optimiser leave it alone: it is off, has not seen it before, or it is a dataset's and tiny."""
        return not tf.optimizer_is_on() or name in self._passed_over or (not joined and _size(name) < WORTH_OPTIMIZING)

    def _watch(
        self, name: str, graph: Any, parent: int, node: int, path: tuple[str, ...], joined: bool = False
    ) -> Watched | None:
        known = self._know(name, graph)
        if known is None or self._refuses(name, known, path):
            return None
        proto = known.definition.proto
        self._nodes += len(proto.node_def)
        described = {"function": known.id, "parent": parent, "node": node}
        instance, first = self._catalog.instance(described, known.definition.tensors)
        copy = tf.FunctionDef()
        copy.CopyFrom(proto)
        copy.signature.name = f"{name}__sleuth_{self._session}_{instance}{'_root' if parent < 0 else ''}"
        called, kinds = self._watch_called(copy, graph, instance, path)
        probing = Probing(self._session, first, self._selection, self._root)
        self._using.put(known.definition, copy, probing, arguments=parent < 0 and not joined, called=called)
        if joined:
            add_call_argument(copy)
            self._using.join(copy, self._session)
        tf.add_function(copy)
        self._copies[path[0]].append(copy.signature.name)
        return Watched(copy.signature.name, instance, first, combined_kind(known.kind, kinds))

    def _watch_called(self, copy: Any, graph: Any, instance: int, path: tuple[str, ...]) -> tuple[set[int], set[str]]:
        """Watch what the copy calls, and make it call the watched ones."""
        graphs = dict(tf.inner_graphs(graph)) if graph is not None else {}
        called: set[int] = set()
        kinds: set[str] = set()
        for number, node in enumerate(copy.node_def):
            for _, function in called_functions(node):
                inner = self._watch_inner(function.name, node, graphs, instance, number, path)
                if inner is not None:
                    function.name = inner.name
                    kinds.add(inner.kind)
                    if node.op in ops.CALLS:
                        called.add(number)
        return called, kinds

    def _watch_inner(
        self, name: str, node: Any, graphs: dict[str, Any], instance: int, number: int, path: tuple[str, ...]
    ) -> Watched | None:
        if is_compiled(node.attr):
            self._catalog.not_covered(f"the inside of {name}", "it is compiled by XLA")
            return None
        return self._watch(name, graphs.get(name), instance, number, (*path, name))

    def _know(self, name: str, graph: Any) -> _Known | None:
        known = self._known.get(name)
        if known is None:
            proto = tf.get_function(name)
            if proto is None:
                return None
            definition = read_definition(proto)
            fields = self._describer.function(definition, graph)
            known = self._known[name] = _Known(self._catalog.function(fields), definition, fields["kind"])
        return known

    def _refuses(self, name: str, known: _Known, path: tuple[str, ...]) -> bool:
        why = None
        if is_compiled(known.definition.proto.attr):
            why = "it is compiled by XLA"
        elif len(path) > MAX_DEPTH:
            why = f"functions are nested more than {MAX_DEPTH} deep"
        elif self._nodes > MAX_NODES:
            why = f"more than {MAX_NODES:,} nodes are being watched"
        if why:
            self._catalog.not_covered(f"the inside of {name}", why)
        return why is not None


def combined_kind(own: str, called: set[str]) -> str:
    """What a function does, with all that it calls: one that calls a backward pass trains."""
    kinds = {own, *called}
    if own == "backward" or not kinds & {"train", "backward", "write"}:
        return own
    return "train" if kinds & {"train", "backward"} else "write"


def _size(name: str, depth: int = 0) -> int:
    """How many nodes the graph of a function has when the calls in it are inlined; more than a few is enough to say."""
    proto = tf.get_function(name)
    if proto is None or depth > WORTH_OPTIMIZING:
        return WORTH_OPTIMIZING
    size = len(proto.signature.input_arg) + len(proto.signature.output_arg) if depth == 0 else 0
    nodes = [node for node in _live_nodes(proto) if node.op not in ops.PASSED_THROUGH]
    for node in nodes[:WORTH_OPTIMIZING]:
        called = [function.name for _, function in called_functions(node)]
        size += sum(_size(inner, depth + 1) for inner in called) if node.op in ops.CALLS else 1 + 3 * len(called)
    return size


def _live_nodes(proto: Any) -> list[Any]:
    """The nodes that what the function returns, or must do, depends on."""
    nodes = {node.name: node for node in proto.node_def}
    live: dict[str, Any] = {}
    wanted = [*proto.ret.values(), *proto.control_ret.values()]
    while wanted:
        name = wanted.pop().lstrip("^").split(":")[0]
        if name in nodes and name not in live:
            live[name] = nodes[name]
            wanted.extend(nodes[name].input)
    return list(live.values())
