"""The hooks of tfdbg, with their names and arguments, recorded by tensorsleuth."""

from __future__ import annotations

import os
import re
import shlex
import sys
import threading
from collections.abc import Callable
from typing import Any

from tensorsleuth.core.modes import Mode
from tensorsleuth.integrations.session_hook import SleuthHook
from tensorsleuth.integrations.session_recording import SessionRecording, print_verdict
from tensorsleuth.integrations.tensor_filters import TensorFilter, TensorFilters
from tensorsleuth.recording.harmless import complain, harmless
from tensorsleuth.ui.terminal import console

DEBUGGER_ROWS = 200_000  # kept for the debugger, which reads them after every run


class FilterRunner:
    """Applies filters after each run, reports those that pass, and opens the debugger if there is a terminal."""

    def __init__(self, session_recording: SessionRecording, tensor_filter_fn: TensorFilter | None = None) -> None:
        self._recording = session_recording
        self._filters = TensorFilters()
        self._went_bad = False
        if tensor_filter_fn is not None:
            self._filters.add("tensor_filter_fn", tensor_filter_fn)

    def add_tensor_filter(self, filter_name: str, tensor_filter: TensorFilter) -> None:
        """Add a filter: a function of (datum, tensor) that returns whether to stop there."""
        self._filters.add(filter_name, tensor_filter)

    def after_run(self) -> list[str]:
        """Return the names of the filters that pass now and did not before."""
        went_bad = self._recording.went_bad()
        if self._filters.only_health and not went_bad:
            return []
        trace = self._recording.trace()
        with self._recording.unseen():
            hits = self._filters.hits(trace) if trace is not None else []
        for name, datum in hits:
            where = f" at {datum.file}:{datum.line}" if datum.file else ""
            console.say(f"filter {name}: {datum.tensor_name} ({datum.op}){where}, step {datum.step}")
        if hits:
            self._show()
        return [name for name, _ in hits]

    def _show(self) -> None:
        diagnosis = self._recording.diagnosis()
        if diagnosis is not None:
            print_verdict(diagnosis)
        if sys.stdin.isatty() and sys.stdout.isatty():
            open_debugger(self._recording)


def open_debugger(session_recording: SessionRecording) -> None:
    """Open the terminal debugger on the recording so far."""
    from tensorsleuth.ui.debugger.debugger import Debugger
    from tensorsleuth.ui.tui.app import open_debugger as show

    trace = session_recording.trace()
    if trace is not None:
        show(Debugger(trace))


class _TfdbgHook(SleuthHook):
    """The common part of the three hooks: a filter on the names of threads."""

    def __init__(self, logdir: str | None, thread_name_filter: str | None, **settings: Any) -> None:
        super().__init__(logdir, **settings)
        self._threads = re.compile(thread_name_filter) if thread_name_filter else None

    def _is_wanted(self, number: int) -> bool:
        here = self._threads is None or bool(self._threads.match(threading.current_thread().name))
        return here and super()._is_wanted(number)


class _FilteringHook(_TfdbgHook):
    """The hooks that apply filters after each run."""

    def __init__(
        self, logdir: str | None, thread_name_filter: str | None, tensor_filter_fn: TensorFilter | None
    ) -> None:
        super().__init__(logdir, thread_name_filter, mode=Mode.FULL_TENSOR, circular_buffer_size=DEBUGGER_ROWS)
        self._filter_runner = FilterRunner(self._recording, tensor_filter_fn)

    def add_tensor_filter(self, filter_name: str, tensor_filter: TensorFilter) -> None:
        """Add a filter: a function of (datum, tensor) that returns whether to stop there."""
        self._filter_runner.add_tensor_filter(filter_name, tensor_filter)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Apply the filters."""
        harmless(self._filter_runner.after_run)


class LocalCLIDebugHook(_FilteringHook):
    """`tfdbg.LocalCLIDebugHook`: stops at the first tensor that passes a filter, `has_inf_or_nan` included.

    Args:
        ui_type, config_file_path: accepted, but without effect.
        dump_root: the folder of the run.
        thread_name_filter: record only what threads with a matching name run.
        tensor_filter_fn: your own filter.
    """

    def __init__(
        self,
        ui_type: str = "readline",
        dump_root: str | None = None,
        thread_name_filter: str | None = None,
        config_file_path: Any = None,
        tensor_filter_fn: TensorFilter | None = None,
    ) -> None:
        super().__init__(dump_root, thread_name_filter, tensor_filter_fn)


class DumpingDebugHook(_TfdbgHook):
    """`tfdbg.DumpingDebugHook`: keeps every value of every run, as a run in `session_root`.

    Args:
        session_root: the folder of the runs.
        watch_fn: a function of (fetches, feeds) that returns tfdbg's WatchOptions, whose op types and dtypes are used.
        thread_name_filter: record only what threads with a matching name run.
    """

    def __init__(
        self,
        session_root: str | os.PathLike[str],
        watch_fn: Callable[[Any, Any], Any] | None = None,
        thread_name_filter: str | None = None,
    ) -> None:
        watched = watch_settings(watch_fn)
        super().__init__(os.fspath(session_root), thread_name_filter, mode=Mode.FULL_TENSOR, **watched)


class TensorBoardDebugHook(_FilteringHook):
    """`tfdbg.TensorBoardDebugHook`: tfdbg's servers no longer exist, so the run goes to the log directory.

    Args:
        grpc_debug_server_addresses, send_traceback_and_source_code: accepted, but without effect.
        thread_name_filter: record only what threads with a matching name run.
        tensor_filter_fn: your own filter.
    """

    def __init__(
        self,
        grpc_debug_server_addresses: Any = None,
        thread_name_filter: str | None = None,
        send_traceback_and_source_code: bool = True,
        tensor_filter_fn: TensorFilter | None = None,
    ) -> None:
        super().__init__(None, thread_name_filter, tensor_filter_fn)

    def begin(self) -> None:
        """Start recording, and print where the run is and how to open it, since there is no server."""
        super().begin()
        if self.run is not None:
            console.say(f"recording to {self.run}. Open it in the browser: sleuth view {shlex.quote(str(self.run))}")


def watch_settings(watch_fn: Callable[[Any, Any], Any] | None) -> dict[str, Any]:
    """Return the settings from tfdbg's WatchOptions that apply here: op types and dtypes."""
    options = watch_fn([], {}) if watch_fn is not None else None
    settings: dict[str, Any] = {}
    if ops := _allowed(options, "op_type"):
        settings["op_regex"] = ops
    if dtypes := _allowed(options, "tensor_dtype"):
        settings["tensor_dtypes"] = lambda dtype: re.match(dtypes, dtype.name) is not None
    if _allowed(options, "node_name"):
        complain("watch_fn selects nodes by name, but all nodes are recorded. To select: trace.tensors(name=…).")
    return settings


def _allowed(options: Any, what: str) -> str | None:
    for word in ("allowlist", "whitelist"):
        pattern = getattr(options, f"{what}_regex_{word}", None)
        if pattern:
            return str(pattern)
    return None
