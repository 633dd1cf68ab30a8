"""Sessions that record what they run, for programs that hold their own session."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorsleuth.core.modes import DEFAULT_MODE, Mode
from tensorsleuth.integrations.session_recording import SessionRecording
from tensorsleuth.integrations.tensor_filters import TensorFilter
from tensorsleuth.integrations.tfdbg_hooks import DEBUGGER_ROWS, FilterRunner, watch_settings
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.settings import DtypeFilter


class SleuthSession:
    """A session that is recorded until it is closed. Everything else works as in the session itself.

    Args:
        sess: a `tf.compat.v1.Session`.
        logdir, mode, circular_buffer_size, op_regex, tensor_dtypes: as in `tensorsleuth.record`.
    """

    def __init__(
        self,
        sess: Any,
        logdir: str | os.PathLike[str] | None = None,
        mode: str | Mode = DEFAULT_MODE,
        circular_buffer_size: int | None = None,
        op_regex: str | None = None,
        tensor_dtypes: DtypeFilter = None,
    ) -> None:
        self._sess = sess
        self._recording = SessionRecording(
            logdir, mode=mode, circular_buffer_size=circular_buffer_size, op_regex=op_regex, tensor_dtypes=tensor_dtypes
        )
        self._recording.begin()

    @property
    def run_folder(self) -> Path | None:
        """The folder of the recording, to pass to `sleuth why`."""
        return self._recording.run

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run as `Session.run` does."""
        return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def close(self) -> None:
        """Close the session, and the recording."""
        self._sess.close()
        self._recording.end()

    def __enter__(self) -> SleuthSession:
        self._sess.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self._sess.__exit__(*error)
        finally:
            self._recording.end()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sess, name)


class LocalCLIDebugWrapperSession(SleuthSession):
    """`tfdbg.LocalCLIDebugWrapperSession`: stops at the first tensor that passes a filter.

    Args:
        sess: a `tf.compat.v1.Session`.
        dump_root: the folder of the run.
        ui_type, config_file_path: accepted, but without effect.
        thread_name_filter: record only what threads with a matching name run.
    """

    def __init__(
        self,
        sess: Any,
        dump_root: str | None = None,
        ui_type: str = "readline",
        thread_name_filter: str | None = None,
        config_file_path: Any = False,
    ) -> None:
        super().__init__(sess, dump_root, Mode.FULL_TENSOR, DEBUGGER_ROWS)
        self._threads = re.compile(thread_name_filter or "")
        self._filter_runner = FilterRunner(self._recording)

    def add_tensor_filter(self, filter_name: str, tensor_filter: TensorFilter) -> None:
        """Add a filter: a function of (datum, tensor) that returns whether to stop there."""
        self._filter_runner.add_tensor_filter(filter_name, tensor_filter)

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run as `Session.run` does, then apply the filters."""
        self._recording.set_recording(bool(self._threads.match(threading.current_thread().name)))
        try:
            return super().run(fetches, feed_dict, options, run_metadata)
        finally:
            harmless(self._filter_runner.after_run)


class DumpingDebugWrapperSession(SleuthSession):
    """`tfdbg.DumpingDebugWrapperSession`: keeps every value of every run, as a run in `session_root`."""

    def __init__(
        self,
        sess: Any,
        session_root: str | os.PathLike[str],
        watch_fn: Callable[[Any, Any], Any] | None = None,
        thread_name_filter: str | None = None,
        pass_through_operrors: Any = None,
    ) -> None:
        super().__init__(sess, session_root, Mode.FULL_TENSOR, **watch_settings(watch_fn))
