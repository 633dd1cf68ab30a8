"""The three ways to look at tensors: with the native library on the host, on the device they live on, from Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorsleuth.native import loader
from tensorsleuth.recording.backends.device_probes import OnDevice
from tensorsleuth.recording.backends.device_sink import DeviceSink
from tensorsleuth.recording.backends.python_hook import PlainHook
from tensorsleuth.recording.backends.python_probes import Calls, PlainProber
from tensorsleuth.recording.backends.python_sink import PlainSink
from tensorsleuth.recording.backends.sink import NativeSink, Sink
from tensorsleuth.recording.eager.callbacks import EagerCallbacks
from tensorsleuth.recording.functions.optimizer_probes import AfterOptimizer
from tensorsleuth.recording.functions.probes import InPlace, Prober
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.replay.replay_inputs import Keeper
from tensorsleuth.recording.settings import Settings
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.run_folder import SHARED
from tensorsleuth.trace.storage.size_plan import TracePlan

Entry = Callable[..., Any]
_OPTIMISED = "the program as the graph optimiser would have changed it"


@dataclass(frozen=True)
class Means:
    """The backend of a recording: its sink, probes and selection."""

    probe: str  # host, device or numpy
    kernel: str
    sink: Sink
    prober: Prober
    hooks: Callable[[Sequence[Entry], EagerCallbacks], Sequence[Entry]]  # what stands in for the real entry points
    keeper: Callable[[], Keeper] | None = None  # makes it, where there is the native library
    optimizing: loader.Native | None = None  # the library, where it takes part in the graph optimiser


class Chooser:
    """Finds the means that this machine has and the settings ask for."""

    def __init__(
        self, settings: Settings, folder: Folder, session: int, plan: TracePlan, catalog: CatalogWriter
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._session = session
        self._plan = plan
        self._catalog = catalog

    def choose(self) -> Means:
        native = loader.load() if self._settings.probe != "numpy" else None
        if native is not None:
            wanted = self._settings.probe == "device"
            on_device = wanted or (self._settings.probe == "auto" and tf.has_accelerator())
            return self._on_device(native) if on_device else self._on_host(native)
        if self._settings.probe != "numpy":
            complain(f"there is no native library here ({loader.why_not()}); recording from Python, which is slower.")
        return self._from_python()

    def _on_host(self, native: loader.Native) -> Means:
        sink = NativeSink(native, self._folder, self._session, self._plan)
        prober, hooks = self._host_prober(native), self._native_hooks(native, False)
        optimizing = native if isinstance(prober, AfterOptimizer) else None
        return Means("host", _kernel(native), sink, prober, hooks, lambda: Keeper(native), optimizing)

    def _host_prober(self, native: loader.Native) -> Prober:
        """After the graph optimiser where that can be, so that it does to the program what it always does."""
        why_not = tf.join_optimizer(str(loader.LIBRARY))
        if why_not is None:
            if isinstance(self._folder, Path):  # others of the run may send us functions
                native.share_functions(os.fsencode(self._folder.parent / SHARED), self._session)
            return AfterOptimizer(native, self._plan.buffers is not None)
        self._catalog.not_covered(_OPTIMISED, why_not)
        return InPlace()

    def _on_device(self, native: loader.Native) -> Means:
        self._say_not_optimised()
        sink = DeviceSink(native, self._folder, self._session, self._plan)
        prober = OnDevice(self._not_covered_once())
        return Means("device", _kernel(native), sink, prober, self._native_hooks(native, True), lambda: Keeper(native))

    def _from_python(self) -> Means:
        self._say_not_optimised()
        if self._plan.samples is not None:
            self._catalog.not_covered("memory: how much is used, and where tensors lie", "it needs the native library")
        sink = PlainSink(self._folder, self._plan)
        calls = Calls(sink)
        prober = PlainProber(calls, self._session, self._not_covered_once())

        def hooks(real: Sequence[Entry], callbacks: EagerCallbacks) -> Sequence[Entry]:
            return PlainHook(real, callbacks, calls).entry_points

        return Means("numpy", "NumPy", sink, prober, hooks)

    def _say_not_optimised(self) -> None:
        if tf.optimizer_is_on():
            self._catalog.not_covered(_OPTIMISED, "probes of this kind stand in the graph before it is optimised")

    def _native_hooks(self, native: loader.Native, slow_tensors: bool) -> Any:
        def hooks(real: Sequence[Entry], callbacks: EagerCallbacks) -> Sequence[Entry]:
            asked = callbacks.intern, callbacks.substitute, callbacks.call_function, callbacks.failed
            types = tf.EagerTensor, list, tuple
            names = tf.ops_with_functions(), callbacks.known_ops, tf.ops_that_write()
            looking = callbacks.look_slowly, callbacks.feeds.strangers, callbacks.made_bad, callbacks.writes
            given = (*real, *asked, *looking, callbacks.begins, callbacks.look_inside, *types, *names)
            made: Sequence[Entry] = native.hooks(given, self._session, int(slow_tensors))
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
