"""Watches `tf.compat.v1.Session.run`: each run is a call of the function that stands for its graph."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops.kinds import FEED, SESSION_RUN
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.eager.callbacks import END_OF_DATA
from tensorsleuth.recording.eager.op_sites import OpSite, OpSites
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.functions.watched_functions import WatchedCopy
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import GUARD_STOP_MESSAGE, Alarm, FunctionCall, Observers, first_alarm
from tensorsleuth.recording.sessions.idle_updates import IdleUpdates
from tensorsleuth.recording.sessions.session_runs import SessionRun, SessionRuns
from tensorsleuth.recording.sessions.session_values import SessionValue, new_uid
from tensorsleuth.recording.steps import StepCounter
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import sessions as tf_sessions
from tensorsleuth.recording.tensorflow.error_messages import describe_inputs
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

UNNOTED_CALL = 0  # the number of a call that is not recorded


@dataclass(frozen=True, slots=True)
class ActiveRun:
    """A run in progress."""

    run: SessionRun
    session: Any
    place: OpSite
    number: int
    began: int
    order: list[int]  # indices of the fetches, in the order of their names
    feeds: list[SessionValue]

    @property
    def call(self) -> FunctionCall:
        """Return the run as a function call, for observers."""
        run = self.run
        watched_copy = WatchedCopy(run.name, run.instance, -1, run.kind)
        return FunctionCall(run.title, run.name, self.feeds, self.number, self.began, self.place, watched_copy)


class Sessions:
    """Records the runs of sessions."""

    def __init__(
        self,
        catalog: CatalogWriter,
        call_sites: CallSites,
        op_sites: OpSites,
        step_counter: StepCounter,
        runs: SessionRuns,
        observers: Observers,
    ) -> None:
        self._catalog = catalog
        self._sites = call_sites
        self._places = op_sites
        self._steps = step_counter
        self._native = runs.native
        self._runs = runs
        self._observers = observers
        self._values = runs.values
        self._sink = runs.values.sink
        self._said: set[str] = set()
        self._idle_updates = IdleUpdates(catalog, call_sites)
        self.paused = False  # still prepare graphs, but record no runs

    def begin(self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Any) -> ActiveRun | None:
        """Begin to watch a run."""
        return harmless(self._begin, session, targets, fetches, feeds)

    def end(self, active_run: ActiveRun, values: Sequence[Any]) -> Alarm:
        """Record the end of a run, and return the observers' alarm."""
        self._end_native_run(active_run)
        if active_run.number == UNNOTED_CALL:
            return None
        returned = harmless(self._end, active_run, values)
        if not self._observers.on_call_end or returned is None:
            return None
        return first_alarm(
            self._observers.on_call_end, active_run.call, returned, self._runs.was_probed(active_run.run)
        )

    def fail(self, active_run: ActiveRun, error: BaseException | None) -> Alarm:
        """Record a run that raised, and return the observers' alarm."""
        self._end_native_run(active_run)
        if active_run.number == UNNOTED_CALL or not isinstance(error, tf.TensorFlowErrors):
            return None
        if GUARD_STOP_MESSAGE not in str(error):
            harmless(self._failed, active_run, error)
        return first_alarm(self._observers.on_call_failed, active_run.call, error)

    def _end_native_run(self, active_run: ActiveRun) -> None:
        self._native.end_run(active_run.number)
        self._sink.end_call(active_run.number)

    def note_unwatched(self, what: str) -> None:
        """Note that the program runs a session in a way that we cannot watch."""
        if what not in self._said:
            self._said.add(what)
            self._catalog.not_covered(f"what sessions run through {what}", "it is not recorded", unseen=True)

    def close(self) -> None:
        self._runs.close()

    def prepare(
        self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Sequence[Any]
    ) -> ActiveRun | None:
        """Watch a session that is about to optimise a graph for later runs."""
        found = self._find(session, targets, fetches, [(tensor, None) for tensor in feeds])
        return self._prepare(session, found[0]) if found is not None else None

    def _begin(self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Any) -> ActiveRun | None:
        found = self._find(session, targets, fetches, [(ref.deref(), value) for ref, value in feeds.items()])
        if found is None:
            return None
        harmless(self._idle_updates.note_run, session.graph, found[0], fetches)
        return self._note(session, *found) if not self.paused else self._prepare(session, found[0])

    def _find(
        self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: list[tuple[Any, Any]]
    ) -> tuple[SessionRun, list[int], list[tuple[Any, Any]]] | None:
        """Return the known run, with its fetches and feeds in the order of their names."""
        if session._target:  # another process runs the graph
            self._not_covered("graphs that other processes run for a session", f"it is connected to {session._target}")
            return None
        order = sorted(range(len(fetches)), key=lambda at: fetches[at].name)
        given = sorted(feeds, key=lambda pair: str(pair[0].name))
        wanted = sorted(targets, key=lambda op: str(op.name))
        run = self._runs.run_for(session, [fetches[at] for at in order], wanted, [tensor for tensor, _ in given])
        return (run, order, given) if run is not None else None

    def _prepare(self, session: Any, session_run: SessionRun) -> ActiveRun:
        """Have the library add probes when the session optimises a graph, before the first run."""
        self._native.begin_run(
            session_run.instance, UNNOTED_CALL, session_run.name.encode(), tf_sessions.optimizer_rounds(session)
        )
        return ActiveRun(session_run, session, (0, 0, 0, 0, b"", 0), UNNOTED_CALL, 0, [], [])

    def _note(self, session: Any, session_run: SessionRun, order: list[int], given: list[tuple[Any, Any]]) -> ActiveRun:
        self._steps.function_called(session_run.kind)
        site = self._sites.of_caller()
        feeds = self._values.feed(site, given)
        place = self._places.at_site(SESSION_RUN, site, len(order), instance=session_run.instance)
        number, began = self._sink.next_call(), time.monotonic_ns()
        self._sink.call(
            CallKind.FUNCTION, number, place[0], began, 0, [*session_run.handles, *(value.uid for value in feeds)]
        )
        self._native.begin_run(
            session_run.instance, number, session_run.name.encode(), tf_sessions.optimizer_rounds(session)
        )
        self._sink.begin_call(place[0], number, began)
        return ActiveRun(session_run, session, place, number, began, order, feeds)

    def _end(self, active_run: ActiveRun, values: Sequence[Any]) -> list[SessionValue]:
        """Record the fetched values, and return them."""
        run, place = active_run.run, active_run.place
        took = time.monotonic_ns() - active_run.began
        self._sink.call(CallKind.ENDED, active_run.number, place[0], active_run.began, took, [])
        if not run.has_run:
            run.has_run = True
            self._check_probes(active_run)
        for at, fetch in enumerate(run.fetches):
            if fetch is not None and not fetch.probed:
                self._values.note_fetched(
                    values[active_run.order[at]], fetch.dtype, fetch.tensor, fetch.look, active_run.number
                )
        arrays = [values[at] for at in active_run.order]
        return [self._return(active_run, at, array) for at, array in enumerate(arrays)]

    def _return(self, active_run: ActiveRun, at: int, array: Any) -> SessionValue:
        session_value = SessionValue(array, active_run.run.dtypes[at], new_uid())
        look = active_run.place[4][session_value.dtype]
        if look != DO_NOT_LOOK:
            is_seen = active_run.run.fetches[at] is not None or active_run.run.is_probed
            self._values.note_returned(
                session_value, active_run.place[1] + at, active_run.number, Mode.NO_TENSOR if is_seen else Mode(look)
            )
        return session_value

    def _check_probes(self, active_run: ActiveRun) -> None:
        """Check after the first run of a graph which of its tensors have probes."""
        run = active_run.run
        run.is_probed = self._runs.was_probed(run)
        for fetch in run.fetches:
            if fetch is not None:
                fetch.probed = self._runs.has_probe(run, fetch.tensor)
        if run.has_unseen and not run.is_probed:
            why = "it is tiny, had run before recording began, or the graph optimizer failed on it"
            self._catalog.not_covered(f"the inside of {run.title}, except its feeds and fetches", why)

    def _failed(self, active_run: ActiveRun, error: Any) -> None:
        if tf.error_name(error) == END_OF_DATA:
            self._steps.found_no_data()
            return
        described = describe_inputs([value.array for value in active_run.feeds])
        fields = {"call": active_run.number, "op": active_run.place[0], "type": tf.error_name(error)}
        feeds = len(active_run.feeds)
        fed = self._places.at_site(FEED, self._places.site_of(active_run.place[0]), feeds)[0] if feeds else 0
        makers = [0] * len(active_run.run.handles) + [fed] * feeds
        self._catalog.failure({**fields, "message": str(error.message), "inputs": described, "makers": makers})
        self._sink.call(CallKind.FAILED, active_run.number, active_run.place[0], time.monotonic_ns(), 0, [])

    def _not_covered(self, what: str, why: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self._catalog.not_covered(what, why, unseen=True)


class UnwatchedSessions:
    """Sessions whose graphs cannot have probes: the catalogue lists them as not covered."""

    def __init__(self, catalog: CatalogWriter) -> None:
        self._catalog = catalog
        self._said = False
        self.paused = False

    def begin(self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Any) -> None:
        self.note_unwatched("")

    def prepare(self, session: Any, targets: Sequence[Any], fetches: Sequence[Any], feeds: Sequence[Any]) -> None:
        return None

    def end(self, running: Any, values: Any) -> Alarm:
        return None

    def fail(self, running: Any, error: BaseException | None) -> Alarm:
        return None

    def note_unwatched(self, what: str) -> None:
        if not self._said:
            self._said = True
            why = "it needs the native library, with probes on the host, after the graph optimizer"
            self._catalog.not_covered("graphs that a tf.compat.v1.Session runs", why, unseen=True)

    def close(self) -> None:
        pass
