"""The runs of sessions: one graph for each set of fetches and feeds, known to the library before it runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.native import loader
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.functions.descriptions import FunctionDescriber
from tensorsleuth.recording.functions.function_def import Definition, called_functions, is_compiled, read_definition
from tensorsleuth.recording.functions.function_library import MAX_DEPTH, MAX_WATCHED_NODES, combined_kind
from tensorsleuth.recording.functions.optimizer_probes import describe_probes
from tensorsleuth.recording.functions.probes import ProbeContext, Selection
from tensorsleuth.recording.sessions.run_graph import RunGraph, read_run
from tensorsleuth.recording.sessions.session_values import SessionValues
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import sessions as tf_sessions
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

ONE_SHOT = "OneShotIterator"  # makes its dataset itself, in a function
INSIDE, BELOW = "\1", "\2"  # kInside and kBelow in native/src/graph/watched_functions.h
_INLINED_OPS = ops.CALLS | ops.LOOPS | ops.BRANCHES  # ops whose functions TensorFlow inlines into the caller's graph


@dataclass(slots=True)
class FetchedTensor:
    """A fetched tensor to record."""

    tensor: int
    dtype: int
    look: Mode
    probed: bool = False  # a probe records it


@dataclass
class SessionRun:
    """The graph that a session runs for one set of fetches and feeds."""

    name: str  # the library's name for its graph
    title: str
    instance: int
    kind: str
    handles: list[int]  # uids of its variables
    fetches: list[FetchedTensor | None]
    dtypes: list[int]  # of the fetches
    has_unseen: bool  # it has tensors that only a probe would see
    has_run: bool = False
    watched: list[str] = field(default_factory=list)  # the names of its graph and of the functions in it
    options: Any = None  # our run options, if the graph optimizer does not see the graph
    is_probed: bool = True  # False once a run has shown that it has no probes


@dataclass
class _SessionState:
    """The known facts about one session."""

    runs: dict[Any, SessionRun | None] = field(default_factory=dict)
    handles: dict[str, int] = field(default_factory=dict)


class SessionRuns:
    """Finds or makes the description of a run. Any thread may use it."""

    def __init__(
        self,
        catalog: CatalogWriter,
        call_sites: CallSites,
        function_describer: FunctionDescriber,
        selection: Selection,
        session: int,
        native: loader.Native,
        values: SessionValues,
    ) -> None:
        self._catalog = catalog
        self._sites = call_sites
        self._describer = function_describer
        self._selection = selection
        self._session = session
        self.native = native
        self.values = values
        self._lock = threading.RLock()
        self._sessions: WeakKeyDictionary[Any, _SessionState] = WeakKeyDictionary()
        self._nodes = 0
        self._described: set[str] = set()  # functions of datasets

    def run_for(
        self, session: Any, fetches: Sequence[Any], targets: Sequence[Any], feeds: Sequence[Any]
    ) -> SessionRun | None:
        """Return the description of a run with these fetches, targets and feeds, in the order of their names."""
        key = tuple(tuple(one.name for one in some) for some in (fetches, targets, feeds))
        with self._lock:
            known = self._sessions.setdefault(session, _SessionState())
            if key not in known.runs:
                known.runs[key] = self._watch(session, known, read_run(fetches, targets, feeds), fetches)
            return known.runs[key]

    def close(self) -> None:
        """Remove the graphs from the library."""
        with self._lock:
            for run in (run for known in self._sessions.values() for run in known.runs.values() if run is not None):
                for name in run.watched:
                    self.native.forget_function(name.encode())
                if run.options is not None:
                    tf_sessions.delete_options(run.options)

    def has_probe(self, session_run: SessionRun, tensor: int) -> bool:
        return bool(self.native.has_probe(session_run.name.encode(), tensor))

    def was_probed(self, session_run: SessionRun) -> bool:
        return session_run.options is not None or bool(self.native.was_probed(session_run.name.encode()))

    def _watch(
        self, session: Any, session_state: _SessionState, graph: RunGraph, fetches: Sequence[Any]
    ) -> SessionRun | None:
        definition = graph.definition
        if not self._has_room(definition):
            return None
        handles = [self._handle(session_state, op) for op in graph.variables]
        trained = tf_sessions.trainable_variables(session.graph)
        pairs = enumerate(zip(graph.variables, handles, strict=True))
        captures = {str(at): _describe_variable(op, uid, op.name in trained) for at, (op, uid) in pairs}
        fields = self._describer.describe_with(definition, session.graph, graph.python_ops, captures)
        described = {"function": self._catalog.function(fields), "parent": -1, "node": -1}
        instance, first = self._catalog.instance(described, definition.tensors)
        graph_watcher = _GraphWatcher(self, session, f"sleuth_run_{self._session}_{instance}", instance)
        kinds = graph_watcher.watch(definition, session.graph, instance, first)
        seen = [self._fetch(graph, at, first) for at in range(len(fetches))]
        dtypes = [tf_sessions.datatype(tensor) for tensor in fetches]
        kind = combined_kind(fields["kind"], kinds)
        unseen = graph_watcher.probe_count > len({one.tensor for one in seen if one is not None})
        title = definition.proto.signature.name
        options = tf_sessions.watch_options(graph_watcher.watches()) if tf_sessions.why_not_optimized(session) else None
        return SessionRun(
            graph_watcher.name,
            title,
            instance,
            kind,
            handles,
            seen,
            dtypes,
            unseen,
            False,
            graph_watcher.watched,
            options,
        )

    def describe_function(self, name: str, graph: Any) -> None:
        """Describe a function that a dataset runs, with those that it calls: nothing in it can be recorded."""
        proto = tf_sessions.function_in(graph, name) if name not in self._described else None
        self._described.add(name)
        if proto is None:
            return
        definition = read_definition(proto)
        self._catalog.function(self._describer.describe(definition, dict(tf.inner_graphs(graph)).get(name)))
        for node in proto.node_def:
            for _, function in called_functions(node):
                self.describe_function(function.name, graph)

    def _has_room(self, definition: Definition) -> bool:
        self._nodes += len(definition.nodes)
        if self._nodes <= MAX_WATCHED_NODES:
            return True
        self._catalog.not_covered(
            definition.proto.signature.name, f"more than {MAX_WATCHED_NODES:,} nodes are being watched"
        )
        return False

    def _handle(self, session_state: _SessionState, op: Any) -> int:
        handle = session_state.handles.get(op.name)
        if handle is None:
            handle = session_state.handles[op.name] = self.values.add_variable(op, self._sites.of_graph_op(op))
        return handle

    def _fetch(self, graph: RunGraph, output: int, first: int) -> FetchedTensor | None:
        found = graph.fetched_tensor(output)
        if found is None:
            return None
        tensor, op, dtype = found
        look = self._selection.mode_in_graph(op, dtype % 100)
        return FetchedTensor(first + tensor, dtype % 100, look) if look is not None else None


class _GraphWatcher:
    """Registers one run's graph with the library, and the functions that TensorFlow will inline into it."""

    def __init__(self, runs: SessionRuns, session: Any, name: str, number: int) -> None:
        self.name = name
        self._unoptimized = tf_sessions.why_not_optimized(session)
        self.watched: list[str] = []
        self._lines: list[str] = []  # of the graph itself
        self.probe_count = 0  # the number of tensors that need a probe
        self._runs = runs
        self._graph = session.graph
        self._number = number

    def watch(
        self, definition: Definition, graph: Any, instance: int, first: int, path: tuple[str, ...] = (), name: str = ""
    ) -> set[str]:
        """Register a graph and its callees. Return the kinds of the callees. `path` holds the calling nodes."""
        kinds: set[str] = set()
        called: set[int] = set()
        for number, node in enumerate(definition.proto.node_def):
            for function in self._callable(node) if len(path) < MAX_DEPTH else ():
                kinds.add(self._inner(function, graph, instance, number, (*path, node.name)))
                if node.op in ops.CALLS:
                    called.add(number)
        known_by = f"{self.name}{INSIDE}{BELOW.join(path)}{INSIDE}{name}" if path else self.name
        self._register(known_by, definition, first, called)
        return kinds

    def _register(self, name: str, definition: Definition, first: int, called: set[int]) -> None:
        runs = self._runs
        probe_context = ProbeContext(runs._session, first, runs._selection, None)
        described = describe_probes(definition, probe_context, False, called)
        lines = described.splitlines()
        self.probe_count += sum(output != "-" for line in lines for output in line.split("\t")[2].split(","))
        self.watched.append(name)
        self._lines = lines  # the last call of this method is for the graph itself
        runs.native.watch_run(name.encode(), runs._session, self._number, described.encode())

    def watches(self) -> Iterator[tuple[str, int, str]]:
        """Yield the watches for TensorFlow's own debugger if no probe gets in: node, output, op and attributes."""
        run = f"session={self._runs._session};run={self._number}"
        for line in self._lines:
            node, first, outputs, _ = line.split("\t")
            for at, output in enumerate(outputs.split(",")):
                if output != "-":
                    dtype, look, _ = output.split(":")
                    yield node, at, f"SleuthWatch({run};tensor={int(first) + at};dtype={dtype};look={look})"

    def _callable(self, node: Any) -> Iterator[str]:
        """Yield the functions of a node that are readable and that TensorFlow will inline."""
        names = [function.name for _, function in called_functions(node)]
        if not names:
            return
        why = "it is compiled by XLA" if is_compiled(node.attr) else self._unoptimized
        if ops.is_dataset(node.op) or node.op == ONE_SHOT:
            for name in names:
                self._runs.describe_function(name, self._graph)
        why = why or (None if node.op in _INLINED_OPS else f"{node.op} runs it separately")
        if why is not None or any(tf_sessions.function_in(self._graph, name) is None for name in names):
            self._runs._catalog.not_covered(f"the inside of {names[0]}, in a session", why or "it cannot be read")
            return
        yield from names

    def _inner(self, name: str, graph: Any, parent: int, number: int, path: tuple[str, ...]) -> str:
        runs = self._runs
        definition = read_definition(tf_sessions.function_in(self._graph, name))
        inner = dict(tf.inner_graphs(graph)).get(name) if graph is not None else None
        fields = runs._describer.describe(definition, inner)
        described = {"function": runs._catalog.function(fields), "parent": parent, "node": number}
        instance, first = runs._catalog.instance(described, definition.tensors)
        runs._nodes += len(definition.nodes)
        return combined_kind(fields["kind"], self.watch(definition, inner, instance, first, path, name))


def _describe_variable(op: Any, uid: int, trainable: bool) -> dict[str, Any]:
    return {"uid": uid, "variable": op.name, "shape": tf_sessions.variable_shape(op), "trainable": trainable}
