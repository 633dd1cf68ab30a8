"""Keeps the watched copy of every function that runs, made the first time it is called."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_copy import Called, Copying, InDataset, Watched
from tensorsleuth.recording.functions.function_def import called_functions
from tensorsleuth.recording.functions.function_library import Library
from tensorsleuth.recording.functions.minimal_probes import sentinel
from tensorsleuth.recording.functions.optimizer_probes import WORTH_OPTIMIZING
from tensorsleuth.recording.functions.outline import Outline
from tensorsleuth.recording.functions.probes import InPlace, Prober, Selection
from tensorsleuth.recording.replay.exported_copy import Exporting
from tensorsleuth.recording.replay.replay_copy import Again
from tensorsleuth.recording.tensorflow import internals as tf

__all__ = ["Functions", "Watched"]

_UNKNOWN = Watched("", -1, -1, "")
_CALLED, _ELSEWHERE, _IN_DATASET, _AGAIN = "called by Python", "run elsewhere", "called by a dataset", "run again"
_LOOKED_INTO = "run again to look into it"
_USES = (_CALLED, _ELSEWHERE, _IN_DATASET, _AGAIN, _LOOKED_INTO)
Find = Callable[[], Any]  # gives the Python graph of a function


class Functions:
    """Finds, or makes, the watched copy of a function by its name."""

    def __init__(
        self,
        library: Library,
        selection: Selection,
        prober: Prober,
        flight: bool,
        looking: Callable[[], Selection | None],
    ) -> None:
        self.library = library
        self._selection = selection
        self._prober = prober
        self._flight = flight  # look at nothing while it goes well
        self._looking = looking  # what is looked at in calls that are run again though all went well
        self.keeps = False  # what every call begins with, for somebody may want to save one
        self._lock = threading.RLock()
        self._untouched: dict[str, bool] = {}
        self._seen_writes: dict[str, bool] = {}
        self._described: dict[str, Watched | None] = {}  # those that run as they are
        self._roots: dict[tuple[str, str], Watched | None] = {}
        self._in_datasets: set[str] = set()  # whose copies stay for as long as the dataset may live
        self._closed = False
        self._running = 0  # calls under way
        self._doomed: list[str] = []  # copies to take away when none is
        self._sent: set[str] = set()  # copies that other processes run
        self._passed_over: set[str] = set()  # functions that the graph optimiser did not see

    def watched(self, name: str, find: Find, joined: bool = True, elsewhere: Prober | None = None) -> Watched | None:
        """The copy to run instead of `name`; None where it has to run as it is.

        `elsewhere` puts the probes into a copy that another process is to run.
        """
        if elsewhere is not None:
            return self._find(name, find, _ELSEWHERE, elsewhere)
        return self._find(name, find, _CALLED if joined else _IN_DATASET)

    def described(self, name: str, find: Find) -> Watched | None:
        """A function that has to run as it is: what it takes, writes and returns is known, not what it computes."""
        with self._lock:
            if name not in self._described:
                self._described[name] = None if self._closed else self._describe(name, find())
            return self._described[name]

    def _describe(self, name: str, graph: Any) -> Watched | None:
        known = self.library.know(name, graph)
        if known is None:
            return None
        fields = {"function": known.id, "parent": -1, "node": -1}
        return Watched(name, *self.library.catalog.instance(fields, known.definition.tensors), known.kind)

    def again(self, name: str, find: Find) -> Watched | None:
        """The copy with which a call is run again: nothing in it is compiled, and nothing outside is touched."""
        return self._find(name, find, _AGAIN)

    def looked_into(self, name: str, find: Find) -> Watched | None:
        """Return a copy that records only what `looking` selects."""
        return self._find(name, find, _LOOKED_INTO) if self._looking() is not None else None

    def exporting(self, name: str, find: Find) -> Exporting:
        """Return the maker of copies that return the tensors of compiled functions."""
        selection = self._selection.again()
        return Exporting(self.library, self._prober, selection, self._lock, name, find)

    def refuse_looks(self, name: str) -> None:
        """Never again run a call of `name` only to look into it."""
        with self._lock:
            self._roots[(name, _LOOKED_INTO)] = None

    def outline(self, name: str) -> Outline:
        return self.library.outline(name)

    def is_kept(self, name: str) -> bool:
        """Does a call of a function keep what it begins with."""
        return self.keeps or self.is_flown(name)

    def is_flown(self, name: str) -> bool:
        """Is what happens in a function found out afterwards, by running it again."""
        return self._is_untouched(name) or self.outline(name).compiled

    def sees_writes(self, name: str) -> bool:
        """Is what a flown function writes to variables looked at on its way there."""
        if name not in self._seen_writes:
            self._seen_writes[name] = self._flight and not tf.autoclusters() and not self.outline(name).compiled
        return self._seen_writes[name]

    def _is_untouched(self, name: str) -> bool:
        """Is nothing in a function looked at: in flight, and where XLA chooses by itself what to compile.

        A probe there would part what XLA compiles as one, and so change its bits.
        """
        if name not in self._untouched:
            self._untouched[name] = self._flight or tf.autoclusters()
        return self._untouched[name]

    def kind(self, name: str, find: Find) -> str:
        """Return the kind of a function that runs unchanged: train, backward, write or plain."""
        with self._lock:
            return self.library.known_kind(name) or self.library.kind(name, find())

    def _find(self, name: str, find: Find, use: str, elsewhere: Prober | None = None) -> Watched | None:
        key = (name, use)
        found = self._roots.get(key, _UNKNOWN)  # once: another thread may forget it
        if found is _UNKNOWN:
            with self._lock:
                found = self._roots.get(key, _UNKNOWN)
                if found is _UNKNOWN:
                    found = None if self._closed else self._watch(name, find(), use, elsewhere)
                    self._roots[key] = found
        return found

    def _watch(self, name: str, graph: Any, use: str, elsewhere: Prober | None) -> Watched | None:
        if use == _CALLED and self._is_untouched(name) and not self._needs_probes(name):
            return None
        if elsewhere is not None:
            watched = Called(self.library, elsewhere, self._selection, False, False).root(name, graph)
            self._sent |= {watched.name} if watched is not None else set()
            return watched
        return self._copying(name, use).root(name, graph)

    def _needs_probes(self, name: str) -> bool:
        """Return whether there is something to keep, or to look at, in a function that is flown."""
        outline = self.outline(name)
        return outline.kept or (bool(outline.writes) and self.sees_writes(name))

    def _copying(self, name: str, use: str) -> Copying:
        prober = self._prober.otherwise() if self._is_passed_over(name, use) else self._prober
        looking = self._looking() if use == _LOOKED_INTO else None
        if looking is not None:
            return Again(self.library, InPlace(), looking)
        if use == _AGAIN:
            return Again(self.library, prober, self._selection.again())
        if use == _IN_DATASET:
            return InDataset(self.library, prober, self._selection)
        untouched = self._is_untouched(name)
        if untouched:
            self._selection.refused(name, "nothing in it is recorded until it goes bad")
        selection = sentinel(self._selection, self.sees_writes(name)) if untouched else self._selection
        return Called(self.library, prober, selection, untouched, self.is_kept(name))

    def _is_passed_over(self, name: str, use: str) -> bool:
        """Will the graph optimiser leave it alone: it is off, has not seen it before, or it is a dataset's and tiny."""
        if not tf.optimizer_is_on() or name in self._passed_over:
            return True
        return use == _IN_DATASET and _size(name) < WORTH_OPTIMIZING

    def ran(self, name: str, watched: Watched) -> bool:
        """A copy has run for the first time: were its probes in it?"""
        if name in self._passed_over or watched.name in self._sent or not tf.optimizer_is_on():
            return True
        if self._prober.took_effect(watched.name):
            return True
        self._passed_over.add(name)
        self.forget(name)
        self.library.catalog.not_covered(
            f"the first call of {name}", "the graph optimiser did not see it, or failed on it"
        )
        return False

    def refuse(self, name: str, why: str) -> None:
        """From now on run `name` as it is."""
        self.forget(name)
        self._roots[(name, _CALLED)] = self._roots[(name, _ELSEWHERE)] = None
        self.library.catalog.not_covered(f"the inside of {name}", why)

    def forget(self, name: str) -> None:
        """TensorFlow dropped a function: drop its copies too."""
        with self._lock:
            for use in _USES:
                self._roots.pop((name, use), None)
            self._in_datasets.discard(name)
            self._untouched.pop(name, None)
            self._seen_writes.pop(name, None)
            self._described.pop(name, None)
            self._doomed += self.library.forget(name)
        self._remove_doomed()

    def select(self, selection: Selection) -> None:
        """Look at other tensors from now on: every function is watched anew when it is called next."""
        with self._lock:
            self._selection = selection
            self._in_datasets |= {name for name, use in self._roots if use == _IN_DATASET}
            self._roots = {key: watched for key, watched in self._roots.items() if watched is None}
            for name in [name for name in self.library.copied_roots() if name not in self._in_datasets]:
                self._doomed += self.library.take_copies(name)
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
        for name in self.library.copied_roots():
            self.forget(name)
        tf.remove_helpers()


def _size(name: str, depth: int = 0) -> int:
    """Return the number of nodes in a function's graph with its calls inlined; stop counting after a few."""
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
