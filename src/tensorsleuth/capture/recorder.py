"""A recording: everything that watches the program, put together, started and stopped as one."""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path
from typing import Any

from tensorsleuth.capture import patches, tf
from tensorsleuth.capture.describe import Describer
from tensorsleuth.capture.eager import EagerCallbacks
from tensorsleuth.capture.functions import Functions
from tensorsleuth.capture.gradients import GradientTracker
from tensorsleuth.capture.instrument import InPlace, Prober, Selection
from tensorsleuth.capture.optimized import AfterOptimizer
from tensorsleuth.capture.settings import Settings
from tensorsleuth.capture.sink import NativeSink, Sink
from tensorsleuth.capture.sites import Sites, is_user
from tensorsleuth.capture.steps import Steps
from tensorsleuth.model.modes import Mode
from tensorsleuth.native import loader
from tensorsleuth.trace.catalog_writer import CatalogWriter
from tensorsleuth.trace.plan import make_plan

_sessions = itertools.count(1)


class Recorder:
    """Watches this process until closed."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self._session = next(_sessions)
        self._patches = patches.Patches()
        native = loader.load()
        on_device = settings.probe == "device" or (settings.probe == "auto" and tf.has_accelerator())
        folder.mkdir(parents=True, exist_ok=True)
        self.catalog = CatalogWriter(folder, is_user)
        self._plan = make_plan(settings.circular_buffer_size, settings.mode is Mode.FULL_TENSOR)
        self.sink = self._open_sink(native)
        self.steps = Steps(self.sink.set_step)
        self._catalog_meta(native, on_device)
        self._watch(native, on_device)

    def _open_sink(self, native: loader.Native | None) -> Sink:
        plan = self._plan
        assert native is not None
        return NativeSink(native, self.folder, self._session, plan)

    def _watch(self, native: Any, on_device: bool) -> None:
        sites, selection = Sites(self.catalog), Selection(self.settings)
        describer = Describer(sites)
        prober = self._prober(native, on_device)
        self.functions = Functions(self.catalog, describer, selection, self._session, prober)
        callbacks = EagerCallbacks(self.catalog, sites, selection, self.functions, self.steps, self.sink)
        patches.watch_removals(self._patches, self.functions.forget)
        patches.hide_our_frames(self._patches)
        patches.watch_gradients(self._patches, GradientTracker(self.sink))
        patches.watch_tapes(self._patches, self.steps.forward_pass, self.steps.gradients_computed)
        patches.watch_eager(self._patches, native, callbacks, self._session, on_device)

    def _prober(self, native: loader.Native, on_device: bool) -> Prober:
        """After the graph optimiser where that can be, so that it does to the program what it always does."""
        if on_device or not tf.optimizer_is_on():
            return InPlace(on_device)
        why_not = tf.join_optimizer(str(loader.LIBRARY))
        if why_not is None:
            return AfterOptimizer(native)
        self.catalog.not_covered("the program as the graph optimiser would have changed it", why_not)
        return InPlace()

    def _catalog_meta(self, native: Any, on_device: bool) -> None:
        self.catalog.meta(
            {
                "version": 1,
                "pid": os.getpid(),
                "argv": list(sys.argv),
                "python": sys.version.split()[0],
                "tensorflow": ".".join(map(str, tf.version())),
                "devices": tf.devices(),
                "settings": self.settings.describe(),
                "started": time.time(),
                "kernel": loader.INSTRUCTION_SETS[native.isa()] if native else "NumPy",
                "probe": "device" if on_device else "host",
                "value_bytes": self._plan.value_bytes,
            }
        )

    def forked(self) -> None:
        """The program forked: its child is not recorded, and that is said."""
        self.catalog.not_covered("processes that the program forks", "TensorFlow does not work across a fork")

    def abandon(self) -> None:
        """In a forked child: leave TensorFlow as it was, and the parent's files alone."""
        self._patches.undo()
        patches.unwatch_gradients()

    def close(self) -> None:
        """Stop watching; the trace is complete."""
        self._patches.undo()
        patches.unwatch_gradients()
        self.sink.close()
        self.functions.close()
        self.catalog.meta({"ended": time.time(), "steps": self.steps.count})
        self.catalog.close()
