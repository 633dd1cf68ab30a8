"""The functions that users call to record a program from inside."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from tensorsleuth.core.errors import SettingsError, SleuthError
from tensorsleuth.core.modes import DEFAULT_MODE, Mode
from tensorsleuth.core.threads.gc_pause import no_collection
from tensorsleuth.recording import default_observers
from tensorsleuth.recording.handle import Handle
from tensorsleuth.recording.harmless import complain, harmless
from tensorsleuth.recording.settings import DtypeFilter, Settings, make_settings
from tensorsleuth.recording.uncaught_exceptions import uncaught_exception
from tensorsleuth.trace.storage import run_folder

# Guards every change of the recorder. Two threads that start a recording at once would each wrap the other's patches
# of TensorFlow, and the patches would call each other without end.
_lock = threading.RLock()
_active: Recording | None = None
_guardian: GuardProtocol | None = None
_observers: Any = None  # observers.ObserverRegistry, created with the first observer


class GuardProtocol(Protocol):
    """The guard. It uses the active recording if there is one, else a recording of its own in memory."""

    @property
    def recorder(self) -> Any: ...
    def selection(self, settings: Settings) -> Any:
        """Return a selection that records enough for the guard and the user."""

    def stand_back(self) -> None:
        """Release the native library, because a recording is about to begin."""

    def join(self, recorder: Any) -> None:
        """Use the recorder of a recording that has begun."""

    def stand_alone(self) -> None:
        """Use a recording of the guard's own, because the user's has ended."""


class Recording(Handle):
    """An active recording. It ends with `close()`, with its `with` block, or with the program."""

    def __init__(
        self, path: Path | None, settings: Settings, recorder: Any, injected: bool = False, implied: bool = False
    ) -> None:
        self.path = path  # of the run; None if the run folder could not be created
        self._settings = settings
        self._recorder = recorder
        self._injected = injected
        self._implied = implied  # `watch` began it, not the user

    @property
    def recorder(self) -> Any:
        """Return the recorder, or None if the recording could not start or has ended."""
        return self._recorder

    def close(self) -> None:
        """Stop recording and complete the trace. Closing twice does nothing."""
        global _active
        with _lock:
            recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        with changing_recorder():
            _active = None
            try:
                recorder.close()
            except Exception as error:
                complain(f"the recording did not end cleanly: {error!r}")
            if self.path is not None and not self._injected:
                with contextlib.suppress(OSError):
                    run_folder.write_end(self.path, 1 if uncaught_exception() is not None else 0)
            if _guardian is not None:
                harmless(_guardian.stand_alone)

    def bad_rows(self) -> int:
        """Return the number of bad tensors recorded so far."""
        return int(self._recorder.sink.bad()) if self._recorder is not None else 0

    def pause_sessions(self, paused: bool) -> None:
        """Pause or resume the recording of what sessions run."""
        if self._recorder is not None:
            self._recorder.pause_sessions(paused)

    def _end(self) -> None:
        self.close()


def record(
    logdir: str | os.PathLike[str] | None = None,
    mode: str | Mode = DEFAULT_MODE,
    circular_buffer_size: int | None = None,
    op_regex: str | None = None,
    tensor_dtypes: DtypeFilter = None,
    inside_every: int | None = None,
) -> Recording:
    """Record this program from here on, as a new run in `logdir`.

    Args:
        logdir: the folder for runs. By default SLEUTH_LOGDIR, or `sleuth_runs` in the current directory.
        mode: how much to record of each tensor, see `tensorsleuth.core.modes.Mode`.
        circular_buffer_size: keep at least this many of the latest events. 0 or less keeps all, None bounds the disk.
        op_regex: record only the outputs of ops whose type matches at its start.
        tensor_dtypes: the dtypes to record, as a list of dtypes or names, or a function of a dtype.
        inside_every: sample the model (docs/inside.md) every so many training steps, 0 for never. By default
            SLEUTH_INSIDE_EVERY, or 100.
    """
    folder = run_folder.logdir(os.fspath(logdir) if logdir is not None else None)
    settings = make_settings(folder, mode, circular_buffer_size, op_regex, tensor_dtypes, inside_every=inside_every)
    with _lock:
        if _active is not None and _active._implied:
            _active.close()
        return _active_if_same(settings) or _start(settings, lambda: run_folder.create(folder, sys.argv or ["python"]))


def record_lightly() -> Recording | None:
    """Start a recording for `watch` that records only the outputs of functions, and return it.

    Return None if a recording is active. A later `record()` by the user replaces this one.
    """
    from tensorsleuth.recording.functions.minimal_probes import MinimalSelection

    settings = make_settings(run_folder.logdir(None), Mode.CURT_HEALTH, inside_every=0)
    make_run = lambda: run_folder.create(Path(settings.logdir), sys.argv or ["python"])  # noqa: E731
    with _lock:
        return _start(settings, make_run, selection=MinimalSelection(settings, True)) if _active is None else None


def enable_dump_debug_info(
    dump_root: str | os.PathLike[str] | None = None,
    tensor_debug_mode: str = "NO_TENSOR",
    circular_buffer_size: int = 1000,
    op_regex: str | None = None,
    tensor_dtypes: DtypeFilter = None,
    *,
    logdir: str | os.PathLike[str] | None = None,
) -> Recording:
    """`tf.debugging.experimental.enable_dump_debug_info`, recorded by tensorsleuth.

    If called again with another `dump_root`, it ends the active recording and begins one there, as TensorFlow's does.

    Args:
        dump_root: the folder for the run.
        tensor_debug_mode, circular_buffer_size, op_regex, tensor_dtypes: the same as in `tensorsleuth.record`.
        logdir: another name for `dump_root`, which tutorials use.
    """
    if (dump_root is None) == (logdir is None):
        raise SettingsError("enable_dump_debug_info needs one directory for its runs: dump_root, or logdir.")
    root = os.fspath(dump_root if dump_root is not None else logdir or "")
    with _lock:
        _close_if_elsewhere(
            make_settings(run_folder.logdir(root), tensor_debug_mode, circular_buffer_size, op_regex, tensor_dtypes)
        )
        return record(root, tensor_debug_mode, circular_buffer_size, op_regex, tensor_dtypes)


def _close_if_elsewhere(settings: Settings) -> None:
    """End the active recording if its settings differ in the directory only."""
    here = _active._settings if _active is not None and not _active._injected else settings
    if here.logdir != settings.logdir and replace(here, logdir=settings.logdir) == settings:
        disable_dump_debug_info()


def is_recording() -> bool:
    """Return whether a recording is active."""
    return _active is not None


def disable_dump_debug_info() -> None:
    """Stop the active recording, if any."""
    if _active is not None and not _active._injected:
        _active.close()


@contextlib.contextmanager
def step(number: int) -> Iterator[None]:
    """Give this block of the program the training step number `number`."""
    if not isinstance(number, int):
        raise SettingsError(f"step({number!r}): a step is an integer.")
    recorder = active_recorder()
    with recorder.steps.user_step(number) if recorder is not None else contextlib.nullcontext():
        yield


def start_injected(run: Path, settings: Settings) -> None:
    """Record a program of `sleuth run` into its run."""
    _start(settings, lambda: run, injected=True)


def active_recording() -> Recording | None:
    """Return the active recording, if any."""
    return _active


def active_recorder() -> Any:
    """Return the active recorder: the recording's, else the guard's, else the in-memory one of observers."""
    recorder = _recorder()
    return recorder if recorder is not None or _observers is None else _observers.recorder


def _recorder() -> Any:
    if _active is not None:
        return _active._recorder
    return _guardian.recorder if _guardian is not None else None


def set_guardian(guard_protocol: GuardProtocol | None) -> Any:
    """Set or remove the guard. Return the recorder of the active recording, if any."""
    global _guardian
    _guardian = guard_protocol
    return _active._recorder if _active is not None else None


def add_observer(observer: Any) -> None:
    """Attach an observer to the current recorder and all later ones. Without a recorder, create one in memory.

    Adding it twice does nothing. See `observer.Observer`.
    """
    global _observers
    from tensorsleuth.recording.observers import ObserverRegistry

    with _lock:
        if _observers is None:
            _observers = ObserverRegistry()
            os.register_at_fork(after_in_child=_observers.abandon)
        if observer not in _observers:
            _observers.add(observer, _recorder())


def remove_observer(observer: Any) -> None:
    """Detach an observer for good."""
    with _lock:
        if _observers is not None:
            _observers.remove(observer)


def changing() -> contextlib.AbstractContextManager[object]:
    """Return the lock that protects changes of the recorder."""
    return _lock


@contextlib.contextmanager
def changing_recorder() -> Iterator[None]:
    """Detach observers while the recorder is replaced, then attach them to the new one. Hold the lock meanwhile."""
    with _lock:
        if _observers is not None:
            _observers.detach()
        try:
            yield
        finally:
            if _observers is not None:
                _observers.attach(_recorder())


def _active_if_same(settings: Settings) -> Recording | None:
    """Return the active recording, if any. Raise SettingsError if its settings differ."""
    if _active is None or _active._injected:
        return _active
    differences = settings.differences(_active._settings)
    if differences:
        raise SettingsError(
            f"A recording is under way with other settings: {'; '.join(differences)}. "
            "Close it first (disable_dump_debug_info(), or the recording's close()), or use the same settings."
        )
    return _active


def _renew_lock_in_child() -> None:
    """Replace the lock in a forked child, which has none of the threads that may hold it."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock_in_child)


def _start(settings: Settings, make_run: Any, injected: bool = False, selection: Any = None) -> Recording:
    require_tensorflow()
    with no_collection():  # our imports would trigger one, which looks through all objects of TensorFlow
        if settings.inside_every:
            harmless(_add_default_observers)
        with changing_recorder():
            return _start_recorder(settings, make_run, injected, selection)


def _add_default_observers() -> None:
    from tensorsleuth.recording.observers import ModelObserver

    for make in default_observers.FACTORIES:
        add_observer(ModelObserver(make))


def _start_recorder(settings: Settings, make_run: Any, injected: bool, light: Any) -> Recording:
    global _active
    from tensorsleuth.recording.recorder import Recorder

    guardian = _guardian
    if guardian is not None:
        guardian.stand_back()
    try:
        run = make_run()
        selection = guardian.selection(settings) if guardian is not None else light
        recorder = Recorder(run / f"p-{time.time_ns()}-{os.getpid()}", settings, selection)
    except Exception as error:  # the disk is full or read-only, or we have a bug
        if guardian is not None:
            guardian.stand_alone()
        if os.environ.get("SLEUTH_DEBUG"):
            raise
        complain(f"not recording: {type(error).__name__}: {error}; the program goes on.")
        return Recording(None, settings, None)
    _active = Recording(run, settings, recorder, injected, implied=light is not None)
    if guardian is not None:
        guardian.join(recorder)
    atexit.register(_active.close)
    os.register_at_fork(after_in_parent=_note_fork, after_in_child=_abandon_in_child)
    return _active


def require_tensorflow() -> None:
    """Raise an error with advice if TensorFlow is missing or too old."""
    try:
        import tensorflow
    except ImportError as error:
        raise SleuthError(
            f"TensorFlow cannot be imported by {sys.executable} ({error}). "
            "Install it there (pip install tensorflow), or run sleuth with the Python that has it."
        ) from error
    major, minor = (int(part) for part in tensorflow.__version__.split(".")[:2])
    if (major, minor) < (2, 15):
        raise SleuthError(
            f"TensorFlow {tensorflow.__version__} is too old: tensorsleuth needs 2.15 or newer. "
            "Upgrade it (pip install -U tensorflow)."
        )


def _note_fork() -> None:
    if _active is not None and _active._recorder is not None:
        _active._recorder.forked()


def _abandon_in_child() -> None:
    """Drop the recording in a forked child: the files belong to the parent."""
    global _active
    if _active is not None and _active._recorder is not None:
        _active._recorder.abandon()
        _active._recorder = None
    _active = None
