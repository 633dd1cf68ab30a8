"""Watches `tf.compat.v1.Session.run`: each run is a call of the function that stands for its graph."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.call_sites import Sites
from tensorsleuth.recording.eager.callbacks import END_OF_DATA
from tensorsleuth.recording.eager.op_sites import Place, Places
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.functions.watched_functions import Watched
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import STOPPED, Alarm, FunctionCall, Observers, first_alarm
from tensorsleuth.recording.sessions.runs import Run, SessionRuns
from tensorsleuth.recording.sessions.values import Value, new_uid
from tensorsleuth.recording.steps import Steps
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import sessions as tf_sessions
from tensorsleuth.recording.tensorflow.error_messages import describe_inputs
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

RUN = "Session.run"
UNWATCHED = 0  # the number of a call that is not noted


@dataclass(frozen=True, slots=True)
class Running:
    """A run that is under way."""

    run: Run
    session: Any
    place: Place
    number: int
    began: int
    order: list[int]  # places of the fetches, in the order of their names
    feeds: list[Value]

    @property
    def call(self) -> FunctionCall:
        """The run as the guard knows calls."""
        run = self.run
        watched = Watched(run.name, run.instance, -1, run.kind)
        return FunctionCall(run.title, run.name, self.feeds, self.number, self.began, self.place, watched)


class Sessions:
    """Notes what sessions run."""

    def __init__(
        self,
        catalog: CatalogWriter,
        sites: Sites,
        places: Places,
        steps: Steps,
        runs: SessionRuns,
        observers: Observers,
    ) -> None:
        self._catalog = catalog
        self._sites = sites
        self._places = places
        self._steps = steps
        self._native = runs.native
        self._runs = runs
        self._observers = observers
        self._values = runs.values
        self._sink = runs.values.sink
        self._said: set[str] = set()
        self.paused = False  # prepare what runs, and look at nothing

    def began(self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Any) -> Running | None:
        """A session is about to run."""
        return harmless(self._begin, session, targets, fetches, feeds)

    def ended(self, running: Running, values: Sequence[Any]) -> Alarm:
        """It has run; what the guard has to say."""
        self._leave(running)
        if running.number == UNWATCHED:
            return None
        returned = harmless(self._end, running, values)
        if not self._observers.on_call_end or returned is None:
            return None
        return first_alarm(self._observers.on_call_end, running.call, returned, self._runs.was_probed(running.run))

    def failed(self, running: Running, error: BaseException | None) -> Alarm:
        """It raised; what the guard has to say."""
        self._leave(running)
        if running.number == UNWATCHED or not isinstance(error, tf.Failures):
            return None
        if STOPPED not in str(error):
            harmless(self._failed, running, error)
        return first_alarm(self._observers.on_call_failed, running.call, error)

    def _leave(self, running: Running) -> None:
        self._native.end_run(running.number)
        self._sink.end_call(running.number)

    def passes_by(self, what: str) -> None:
        """A way to run a session that is not watched."""
        if what not in self._said:
            self._said.add(what)
            self._catalog.not_covered(f"what sessions run through {what}", "it is not recorded")

    def close(self) -> None:
        self._runs.close()

    def prepared(
        self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Sequence[Any]
    ) -> Running | None:
        """A session is about to optimise what it will run later."""
        found = self._find(session, targets, fetches, [(tensor, None) for tensor in feeds])
        return self._prepare(session, found[0]) if found is not None else None

    def _begin(self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Any) -> Running | None:
        found = self._find(session, targets, fetches, [(ref.deref(), value) for ref, value in feeds.items()])
        if found is None:
            return None
        return self._note(session, *found) if not self.paused else self._prepare(session, found[0])

    def _find(
        self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: list[tuple[Any, Any]]
    ) -> tuple[Run, list[int], list[tuple[Any, Any]]] | None:
        """Return the known run, with its fetches and feeds in the order of their names."""
        if session._target:  # it runs in another process
            self._not_covered("graphs that other processes run for a session", f"it is connected to {session._target}")
            return None
        order = sorted(range(len(fetches)), key=lambda at: fetches[at].name)
        given = sorted(feeds, key=lambda pair: str(pair[0].name))
        wanted = sorted(targets, key=lambda op: str(op.name))
        run = self._runs.of(session, [fetches[at] for at in order], wanted, [tensor for tensor, _ in given])
        return (run, order, given) if run is not None else None

    def _prepare(self, session: Any, run: Run) -> Running:
        """Let a graph that runs for the first time have its probes, for later."""
        self._native.begin_run(run.instance, UNWATCHED, run.name.encode(), tf_sessions.optimizer_rounds(session))
        return Running(run, session, (0, 0, 0, 0, b"", 0), UNWATCHED, 0, [], [])

    def _note(self, session: Any, run: Run, order: list[int], given: list[tuple[Any, Any]]) -> Running:
        self._steps.function_called(run.kind)
        site = self._sites.of_caller()
        feeds = self._values.feed(site, given)
        place = self._places.at(RUN, site, len(order), instance=run.instance)
        number, began = self._sink.next_call(), time.monotonic_ns()
        self._sink.call(CallKind.FUNCTION, number, place[0], began, 0, [*run.handles, *(value.uid for value in feeds)])
        self._native.begin_run(run.instance, number, run.name.encode(), tf_sessions.optimizer_rounds(session))
        self._sink.begin_call(place[0], number, began)
        return Running(run, session, place, number, began, order, feeds)

    def _end(self, running: Running, values: Sequence[Any]) -> list[Value]:
        """Note what came back, and return it."""
        run, place = running.run, running.place
        took = time.monotonic_ns() - running.began
        self._sink.call(CallKind.ENDED, running.number, place[0], running.began, took, [])
        if not run.proven:
            run.proven = True
            self._prove(running)
        for at, fetch in enumerate(run.fetches):
            if fetch is not None and not fetch.probed:
                self._values.fetched(values[running.order[at]], fetch.dtype, fetch.tensor, fetch.look, running.number)
        arrays = [values[at] for at in running.order]
        return [self._return(running, at, array) for at, array in enumerate(arrays)]

    def _return(self, running: Running, at: int, array: Any) -> Value:
        value = Value(array, running.run.dtypes[at], new_uid())
        look = running.place[4][value.dtype]
        if look != DO_NOT_LOOK:
            is_seen = running.run.fetches[at] is not None or running.run.is_probed
            self._values.returned(
                value, running.place[1] + at, running.number, Mode.NO_TENSOR if is_seen else Mode(look)
            )
        return value

    def _prove(self, running: Running) -> None:
        """A graph has run for the first time: which of its tensors have probes?"""
        run = running.run
        run.is_probed = self._runs.was_probed(run)
        for fetch in run.fetches:
            if fetch is not None:
                fetch.probed = self._runs.has_probe(run, fetch.tensor)
        if run.unseen and not run.is_probed:
            why = "it is tiny, had run before recording began, or the graph optimiser failed on it"
            self._catalog.not_covered(f"the inside of {run.title}: what is fed and fetched is seen", why)

    def _failed(self, running: Running, error: Any) -> None:
        if tf.error_name(error) == END_OF_DATA:
            self._steps.found_no_data()
            return
        described = describe_inputs([value.array for value in running.feeds])
        fields = {"call": running.number, "op": running.place[0], "type": tf.error_name(error)}
        self._catalog.failure({**fields, "message": str(error.message), "inputs": described})
        self._sink.call(CallKind.FAILED, running.number, running.place[0], time.monotonic_ns(), 0, [])

    def _not_covered(self, what: str, why: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self._catalog.not_covered(what, why)


class UnwatchedSessions:
    """Sessions whose graphs cannot have probes: they are listed as not covered."""

    def __init__(self, catalog: CatalogWriter) -> None:
        self._catalog = catalog
        self._said = False
        self.paused = False

    def began(self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Any) -> None:
        self.passes_by("")

    def prepared(self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Sequence[Any]) -> None:
        return None

    def ended(self, running: Any, values: Any) -> Alarm:
        return None

    def failed(self, running: Any, error: BaseException | None) -> Alarm:
        return None

    def passes_by(self, what: str) -> None:
        if not self._said:
            self._said = True
            why = "this needs the native library, on the host, behind the graph optimiser"
            self._catalog.not_covered("graphs that a tf.compat.v1.Session runs", why)

    def close(self) -> None:
        pass
