"""Keeps the watched copy of every function, made at its first call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_copy import CallCopier, DatasetCopier, FunctionCopier, WatchedCopy
from tensorsleuth.recording.functions.function_def import called_functions
from tensorsleuth.recording.functions.function_library import FunctionLibrary
from tensorsleuth.recording.functions.function_outline import FunctionOutline
from tensorsleuth.recording.functions.minimal_probes import minimal_selection
from tensorsleuth.recording.functions.optimizer_probes import MIN_OPTIMIZED_NODES
from tensorsleuth.recording.functions.probes import InPlaceProber, Prober, Selection
from tensorsleuth.recording.replay.exported_copy import ExportCopier
from tensorsleuth.recording.replay.replay_copy import ReplayCopier
from tensorsleuth.recording.tensorflow import internals as tf

__all__ = ["WatchedCopy", "WatchedFunctions"]

_NOT_LOOKED_UP = WatchedCopy("", -1, -1, "")
_BY_PYTHON, _REMOTE, _BY_DATASET, _REPLAY = "called by Python", "run elsewhere", "called by a dataset", "run again"
_INSPECTION = "run again for observers"
_USES = (_BY_PYTHON, _REMOTE, _BY_DATASET, _REPLAY, _INSPECTION)
FindGraph = Callable[[], Any]  # returns the Python graph of a function


class WatchedFunctions:
    """Finds or makes the watched copy of a function by its name."""

    def __init__(
        self,
        function_library: FunctionLibrary,
        selection: Selection,
        prober: Prober,
        flight: bool,
        looking: Callable[[], Selection | None],
    ) -> None:
        self.library = function_library
        self._selection = selection
        self._prober = prober
        self._is_flight_mode = flight  # record no tensors until a call goes bad
        self._inspection_selection = looking  # the tensors to record in a replay of a healthy call
        self.keeps_all_inputs = False  # keep the inputs of every call, because a user may save one
        self._lock = threading.RLock()
        self._untouched: dict[str, bool] = {}
        self._checked_rarely: dict[str, bool] = {}
        self._described: dict[str, WatchedCopy | None] = {}  # functions that run unchanged
        self._copies: dict[tuple[str, str], WatchedCopy | None] = {}
        self._in_datasets: set[str] = set()  # functions of datasets, whose copies stay as long as the dataset may live
        self._closed = False
        self._running = 0  # the number of running calls
        self._copies_to_remove: list[str] = []  # copies to remove once no call is running
        self._remote_copies: set[str] = set()  # copies that other processes run
        self._passed_over: set[str] = set()  # functions that the graph optimizer skipped

    def watched_copy(
        self, name: str, find_graph: FindGraph, joined: bool = True, elsewhere: Prober | None = None
    ) -> WatchedCopy | None:
        """Return the copy to run instead of `name`, or None if it must run unchanged.

        `elsewhere` is the prober for a copy that another process will run.
        """
        if elsewhere is not None:
            return self._find(name, find_graph, _REMOTE, elsewhere)
        return self._find(name, find_graph, _BY_PYTHON if joined else _BY_DATASET)

    def describe_unwatched(self, name: str, find_graph: FindGraph) -> WatchedCopy | None:
        """Describe a function that must run unchanged: its arguments, writes and results, without its inner tensors."""
        with self._lock:
            if name not in self._described:
                self._described[name] = None if self._closed else self._describe(name, find_graph())
            return self._described[name]

    def _describe(self, name: str, graph: Any) -> WatchedCopy | None:
        known = self.library.find_function(name, graph)
        if known is None:
            return None
        fields = {"function": known.id, "parent": -1, "node": -1}
        return WatchedCopy(name, *self.library.catalog.instance(fields, known.definition.tensors), known.kind)

    def replay_copy(self, name: str, find_graph: FindGraph) -> WatchedCopy | None:
        """Return the copy for replays: it is not compiled, and has no outside effects."""
        return self._find(name, find_graph, _REPLAY)

    def inspection_copy(self, name: str, find_graph: FindGraph) -> WatchedCopy | None:
        """Return a replay copy that records only the tensors for observers, such as layer statistics."""
        return self._find(name, find_graph, _INSPECTION) if self._inspection_selection() is not None else None

    def export_copier(self, name: str, find_graph: FindGraph) -> ExportCopier:
        """Return the maker of copies that return the tensors of compiled functions."""
        selection = self._selection.for_replay()
        return ExportCopier(self.library, self._prober, selection, self._lock, name, find_graph)

    def refuse_inspection(self, name: str) -> None:
        """Never again replay a call of `name` only for observers."""
        with self._lock:
            self._copies[(name, _INSPECTION)] = None

    def outline(self, name: str) -> FunctionOutline:
        return self.library.outline(name)

    def keeps_inputs(self, name: str) -> bool:
        """Return whether calls of a function keep their inputs for a replay."""
        return self.keeps_all_inputs or self.relies_on_replay(name)

    def relies_on_replay(self, name: str) -> bool:
        """Return whether a replay after the call finds what happened in a function."""
        return self._is_untouched(name) or self.outline(name).compiled

    def checks_rarely(self, name: str) -> bool:
        """Return whether some calls of a replayable function suffice to check the variables that it writes."""
        if name not in self._checked_rarely:
            self._checked_rarely[name] = (
                self._is_flight_mode and not tf.autoclusters() and not self.outline(name).compiled
            )
        return self._checked_rarely[name]

    def _is_untouched(self, name: str) -> bool:
        """Return whether a function runs without probes: in the mode FLIGHT, or if XLA clusters ops automatically.

        In the second case a probe would split a cluster, and so change the computed bits.
        """
        if name not in self._untouched:
            self._untouched[name] = self._is_flight_mode or tf.autoclusters()
        return self._untouched[name]

    def kind(self, name: str, find_graph: FindGraph) -> str:
        """Return the kind of a function that runs unchanged: train, backward, write or plain."""
        with self._lock:
            return self.library.known_kind(name) or self.library.kind(name, find_graph())

    def _find(self, name: str, find_graph: FindGraph, use: str, elsewhere: Prober | None = None) -> WatchedCopy | None:
        key = (name, use)
        found = self._copies.get(key, _NOT_LOOKED_UP)  # a single lookup, since another thread may remove the key
        if found is _NOT_LOOKED_UP:
            with self._lock:
                found = self._copies.get(key, _NOT_LOOKED_UP)
                if found is _NOT_LOOKED_UP:
                    found = None if self._closed else self._watch(name, find_graph(), use, elsewhere)
                    self._copies[key] = found
        return found

    def _watch(self, name: str, graph: Any, use: str, elsewhere: Prober | None) -> WatchedCopy | None:
        if use == _BY_PYTHON and self._is_untouched(name) and not self._needs_probes(name):
            return None
        if elsewhere is not None:
            watched = CallCopier(self.library, elsewhere, self._selection, False, False).copy_root(name, graph)
            self._remote_copies |= {watched.name} if watched is not None else set()
            return watched
        return self._copier(name, use).copy_root(name, graph)

    def _needs_probes(self, name: str) -> bool:
        """Return whether a replayable function has tensors to keep, or results that only a probe can check."""
        return self.outline(name).needs_copy

    def _copier(self, name: str, use: str) -> FunctionCopier:
        prober = self._prober.fallback() if self._is_passed_over(name, use) else self._prober
        looking = self._inspection_selection() if use == _INSPECTION else None
        if looking is not None:
            return ReplayCopier(self.library, InPlaceProber(), looking)
        if use == _REPLAY:
            return ReplayCopier(self.library, prober, self._selection.for_replay())
        if use == _BY_DATASET:
            return DatasetCopier(self.library, prober, self._selection)
        untouched = self._is_untouched(name)
        if untouched:
            self._selection.note_refused(name, "it is not recorded inside until a call goes bad")
        selection = minimal_selection(self._selection) if untouched else self._selection
        return CallCopier(self.library, prober, selection, untouched, self.keeps_inputs(name))

    def _is_passed_over(self, name: str, use: str) -> bool:
        """Return whether the graph optimizer is off, or will skip a function as before or because it is tiny."""
        if not tf.optimizer_is_on() or name in self._passed_over:
            return True
        return use == _BY_DATASET and _size(name) < MIN_OPTIMIZED_NODES

    def check_probes(self, name: str, watched_copy: WatchedCopy) -> bool:
        """Return whether the probes of a copy worked, after its first run."""
        if name in self._passed_over or watched_copy.name in self._remote_copies or not tf.optimizer_is_on():
            return True
        if self._prober.took_effect(watched_copy.name):
            return True
        self._passed_over.add(name)
        self.forget(name)
        self.library.catalog.not_covered(
            f"the first call of {name}", "the graph optimizer did not see it, or failed on it"
        )
        return False

    def refuse(self, name: str, why: str) -> None:
        """Run `name` unchanged from now on."""
        self.forget(name)
        self._copies[(name, _BY_PYTHON)] = self._copies[(name, _REMOTE)] = None
        self.library.note_unseen_inside(name, why)

    def forget(self, name: str) -> None:
        """Drop the copies of a function that TensorFlow dropped."""
        with self._lock:
            for use in _USES:
                self._copies.pop((name, use), None)
            self._in_datasets.discard(name)
            self._untouched.pop(name, None)
            self._checked_rarely.pop(name, None)
            self._described.pop(name, None)
            self._copies_to_remove += self.library.forget(name)
        self._remove_copies()

    def select(self, selection: Selection) -> None:
        """Use another selection from now on: make a new copy of every function at its next call."""
        with self._lock:
            self._selection = selection
            self._in_datasets |= {name for name, use in self._copies if use == _BY_DATASET}
            self._copies = {key: watched for key, watched in self._copies.items() if watched is None}
            for name in [name for name in self.library.copied_roots() if name not in self._in_datasets]:
                self._copies_to_remove += self.library.take_copies(name)
        self._remove_copies()

    # Copies are not removed while one may be running. A pair of calls instead of a context manager, because every call
    # of a function needs it.
    def begin_use(self) -> None:
        with self._lock:
            self._running += 1

    def end_use(self) -> None:
        with self._lock:
            self._running -= 1
        if self._copies_to_remove:
            self._remove_copies()

    def _remove_copies(self) -> None:
        with self._lock:
            if self._running:
                return
            doomed, self._copies_to_remove = self._copies_to_remove, []
        for copy in doomed:
            self._prober.forget(copy)
            tf.remove_function(copy)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        for name in self.library.copied_roots():
            self.forget(name)
        tf.remove_helpers()


def _size(name: str, depth: int = 0) -> int:
    """Return the number of nodes in a function's graph with its calls inlined; stop counting after a few."""
    proto = tf.get_function(name)
    if proto is None or depth > MIN_OPTIMIZED_NODES:
        return MIN_OPTIMIZED_NODES
    size = len(proto.signature.input_arg) + len(proto.signature.output_arg) if depth == 0 else 0
    nodes = [node for node in _live_nodes(proto) if node.op not in ops.PRUNED_OPS]
    for node in nodes[:MIN_OPTIMIZED_NODES]:
        called = [function.name for _, function in called_functions(node)]
        size += sum(_size(inner, depth + 1) for inner in called) if node.op in ops.CALLS else 1 + 3 * len(called)
    return size


def _live_nodes(proto: Any) -> list[Any]:
    """Return the nodes that the function's results and required side effects depend on."""
    nodes = {node.name: node for node in proto.node_def}
    live: dict[str, Any] = {}
    wanted = [*proto.ret.values(), *proto.control_ret.values()]
    while wanted:
        name = wanted.pop().lstrip("^").split(":")[0]
        if name in nodes and name not in live:
            live[name] = nodes[name]
            wanted.extend(nodes[name].input)
    return list(live.values())
