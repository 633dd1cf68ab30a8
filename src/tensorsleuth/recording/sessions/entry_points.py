"""The ways to run a session: `run`, `make_callable`, a callable from CallableOptions, `partial_run`."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.sessions.sessions import ActiveRun, Sessions, UnwatchedSessions
from tensorsleuth.recording.tensorflow import sessions as tf_sessions


class WatchedRun:
    """A context manager around one run. The caller stores the fetched values in it."""

    def __init__(self, calls: SessionCalls | None = None, active_run: ActiveRun | None = None) -> None:
        self._calls = calls
        self._running = active_run
        self.values: Any = None

    def __enter__(self) -> WatchedRun:
        return self

    def options(self, given: Any) -> Any:
        """Return the run options: the program's own, or ours if the graph can only be watched with them."""
        return self._calls.options(self._running, given) if self._calls is not None and self._running else given

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._calls is not None:
            self._calls.finish(self._running, error, self.values)


class _RunDepth(threading.local):
    depth = 0  # the number of nested runs


class SessionCalls:
    """Reports the start and end of each run of a session."""

    def __init__(self, sessions: Sessions | UnwatchedSessions) -> None:
        self.sessions = sessions
        self._thread = _RunDepth()

    def run(self, session: Any, targets: Any, fetches: Any, feeds: Any) -> WatchedRun:
        """Watch a run with ops, tensors, and a dict of feeds, as `Session.run` resolves them."""
        self._thread.depth += 1
        return WatchedRun(self, self.sessions.begin(session, targets, fetches, feeds))

    def run_raw(self, session: Any, targets: Any, fetches: Any, feeds: Any) -> WatchedRun:
        """Watch a run of the C API. `run` also reaches this point; callables of `make_callable` reach only this one."""
        if self._thread.depth:
            return WatchedRun()
        found = harmless(tf_sessions.resolve_run, session.graph, targets, fetches, feeds)
        return self.run(session, *found) if found is not None else WatchedRun()

    def partial_run(self) -> WatchedRun:
        self.sessions.note_unwatched("partial_run")
        return WatchedRun()

    def preparing(self, session: Any, options: Any) -> WatchedRun:
        """Watch the creation of a callable from options, when TensorFlow optimises its graph."""
        if options.tensor_connection:
            self.sessions.note_unwatched("callables with tensor connections")
            return WatchedRun()
        self._thread.depth += 1
        return WatchedRun(self, harmless(self._prepare, session, options))

    def _prepare(self, session: Any, options: Any) -> ActiveRun | None:
        targets, fetches, feeds = _named_in_options(session.graph, options)
        if tf_sessions.why_not_optimized(session):
            self.sessions.note_unwatched("callables while the graph optimizer is off")
        return self.sessions.prepare(session, targets, fetches, feeds)

    def callable(self, session: Any, options: Any, made: Any) -> Any:
        """Return the callable to give to the program."""
        return made if options.tensor_connection else _WatchedCallable(self, session, options, made)

    def options(self, active_run: ActiveRun, given: Any) -> Any:
        ours = active_run.run.options
        if ours is not None and given is not None:
            self.sessions.note_unwatched("RunOptions while the graph optimizer is off")
        return given if ours is None or given is not None else ours

    def finish(self, active_run: ActiveRun | None, error: BaseException | None, values: Any) -> None:
        """Record how a run ended. Raise in the program if an observer wants to."""
        self._thread.depth -= 1
        if active_run is None:
            return
        failed = error is not None
        alarm = self.sessions.fail(active_run, error) if failed else self.sessions.end(active_run, values)
        if alarm is not None:
            raise alarm from None

    def close(self) -> None:
        self.sessions.close()


class _WatchedCallable:
    """Wraps a callable of TensorFlow's, and forwards all its attributes."""

    def __init__(self, calls: SessionCalls, session: Any, options: Any, made: Any) -> None:
        self._calls = calls
        self._session = session
        self._named = _named_in_options(session.graph, options)
        self._made = made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        targets, fetches, feeds = self._named
        given = {tensor.ref(): value for tensor, value in zip(feeds, args, strict=False)}
        with self._calls.run(self._session, targets, fetches, given) as running:
            running.values = self._made(*args, **kwargs)
        return running.values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def _named_in_options(graph: Any, options: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the ops to run, and the tensors to fetch and to feed, that CallableOptions name."""
    targets = [graph.get_operation_by_name(name) for name in options.target]
    fetches = [graph.get_tensor_by_name(name) for name in options.fetch]
    return targets, fetches, [graph.get_tensor_by_name(name) for name in options.feed]
