"""The three backends of a recording: the native library on the host, summaries on the device, and plain Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tensorsleuth.native import loader
from tensorsleuth.recording.backends.device_probes import DeviceProber
from tensorsleuth.recording.backends.device_sink import DeviceSink
from tensorsleuth.recording.backends.python_hook import PythonHook
from tensorsleuth.recording.backends.python_probes import PythonProber, RunningCalls
from tensorsleuth.recording.backends.python_sink import PythonSink
from tensorsleuth.recording.backends.sink import NativeSink, Sink
from tensorsleuth.recording.eager.callbacks import EagerCallbacks
from tensorsleuth.recording.functions.optimizer_probes import OptimizerProber
from tensorsleuth.recording.functions.probes import InPlaceProber, Prober
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.replay.replay_inputs import ReplayStore
from tensorsleuth.recording.settings import Settings
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.run_folder import SHARED_FOLDER
from tensorsleuth.trace.storage.size_plan import TracePlan

EntryPoint = Callable[..., Any]
_OPTIMISED = "graphs as TensorFlow optimizes them without probes"


@dataclass(frozen=True)
class Backend:
    """The backend of a recording: its sink, probes and selection."""

    probe: str  # host, device or numpy
    kernel: str
    sink: Sink
    make_prober: Callable[[], Prober]  # called for the first function
    hooks: Callable[
        [Sequence[EntryPoint], EagerCallbacks], Sequence[EntryPoint]
    ]  # takes the real entry points and returns their replacements
    make_store: Callable[[], ReplayStore] | None = None  # only with the native library
    optimizer_library: loader.Native | None = None  # the library, if it has joined the graph optimizer


class BackendChooser:
    """Chooses a backend by the settings and the machine."""

    def __init__(
        self, settings: Settings, folder: Folder, session: int, plan: TracePlan, catalog: CatalogWriter
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._session = session
        self._plan = plan
        self._catalog = catalog

    def choose(self) -> Backend:
        native = loader.load() if self._settings.probe != "numpy" else None
        if native is not None:
            wanted = self._settings.probe == "device"
            on_device = wanted or (self._settings.probe == "auto" and tf.has_accelerator())
            return self._on_device(native) if on_device else self._on_host(native)
        if self._settings.probe != "numpy":
            complain(
                f"the native library is missing here ({loader.load_error()}); recording from Python, which is slower."
            )
        return self._from_python()

    def _on_host(self, native: loader.Native) -> Backend:
        sink = NativeSink(native, self._folder, self._session, self._plan)
        hooks, optimizing = self._native_hooks(native, False), native if self._joins_optimizer(native) else None
        has_buffers = self._plan.buffers is not None
        make_prober = (lambda: OptimizerProber(native, has_buffers)) if optimizing is not None else InPlaceProber
        return Backend("host", _kernel(native), sink, make_prober, hooks, lambda: ReplayStore(native), optimizing)

    def _joins_optimizer(self, native: loader.Native) -> bool:
        """Put probes in after the graph optimizer if possible, so that it changes the program as it always does."""
        why_not = tf.join_optimizer(str(loader.LIBRARY))
        if why_not is not None:
            self._catalog.not_covered(_OPTIMISED, why_not)
        elif isinstance(self._folder, Path):  # others of the run may send us functions
            native.share_functions(os.fsencode(self._folder.parent / SHARED_FOLDER), self._session)
        return why_not is None

    def _on_device(self, native: loader.Native) -> Backend:
        self._say_not_optimised()
        sink = DeviceSink(native, self._folder, self._session, self._plan)
        hooks = self._native_hooks(native, True)
        make_prober = partial(DeviceProber, self._not_covered_once())
        return Backend("device", _kernel(native), sink, make_prober, hooks, lambda: ReplayStore(native))

    def _from_python(self) -> Backend:
        self._say_not_optimised()
        if self._plan.samples is not None:
            self._catalog.not_covered("memory: its usage, and the addresses of tensors", "it needs the native library")
        sink = PythonSink(self._folder, self._plan)
        running_calls = RunningCalls(sink)
        make_prober = partial(PythonProber, running_calls, self._session, self._not_covered_once())

        def hooks(real: Sequence[EntryPoint], callbacks: EagerCallbacks) -> Sequence[EntryPoint]:
            return PythonHook(real, callbacks, running_calls).entry_points

        return Backend("numpy", "NumPy", sink, make_prober, hooks)

    def _say_not_optimised(self) -> None:
        if tf.optimizer_is_on():
            self._catalog.not_covered(_OPTIMISED, "these probes are in the graph before it is optimised")

    def _native_hooks(self, native: loader.Native, slow_tensors: bool) -> Any:
        def hooks(real: Sequence[EntryPoint], callbacks: EagerCallbacks) -> Sequence[EntryPoint]:
            asked = callbacks.intern, callbacks.substitute, callbacks.call_function, callbacks.on_op_failed
            types = tf.EagerTensor, list, tuple
            names = tf.ops_with_functions(), callbacks.known_ops, tf.ops_that_write()
            looking = (
                callbacks.note_tensor,
                callbacks.feeds.note_external_inputs,
                callbacks.on_bad_output,
                callbacks.on_variable_write,
            )
            given = (*real, *asked, *looking, callbacks.intern_before_run, callbacks.look_inside, *types, *names)
            made: Sequence[EntryPoint] = native.hooks(given, self._session, int(slow_tensors))
            return made

        return hooks

    def _not_covered_once(self) -> Callable[[str, str], None]:
        said: set[str] = set()

        def once(what: str, why: str) -> None:
            if what not in said:
                said.add(what)
                self._catalog.not_covered(what, why)

        return once


def _kernel(native: loader.Native) -> str:
    return loader.INSTRUCTION_SETS[native.isa()]
