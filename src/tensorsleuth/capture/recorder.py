"""A recording: everything that watches the program, put together, started and stopped as one."""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path

from tensorsleuth.capture import patches, tf
from tensorsleuth.capture.complaint import harmless
from tensorsleuth.capture.describe import Describer
from tensorsleuth.capture.eager import EagerCallbacks
from tensorsleuth.capture.functions import Functions
from tensorsleuth.capture.gradients import GradientTracker
from tensorsleuth.capture.instrument import Selection
from tensorsleuth.capture.means import Chooser, Means
from tensorsleuth.capture.places import Places
from tensorsleuth.capture.session_calls import SessionCalls
from tensorsleuth.capture.session_runs import SessionRuns
from tensorsleuth.capture.session_values import SessionValues
from tensorsleuth.capture.sessions import Sessions, UnwatchedSessions
from tensorsleuth.capture.settings import Settings
from tensorsleuth.capture.sink import NativeSink
from tensorsleuth.capture.sites import Sites, is_user
from tensorsleuth.capture.steps import Steps
from tensorsleuth.capture.watcher import Watcher
from tensorsleuth.model.modes import Mode
from tensorsleuth.trace.catalog_writer import CatalogWriter
from tensorsleuth.trace.files import Folder
from tensorsleuth.trace.plan import TracePlan, make_plan

_sessions = itertools.count(1)


class Recorder:
    """Watches this process until closed."""

    def __init__(
        self, folder: Folder, settings: Settings, selection: Selection | None = None, plan: TracePlan | None = None
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.selection = selection or Selection(settings)
        self._session = next(_sessions)
        self._patches = patches.Patches()
        self._told = patches.Patches()  # what only a watcher needs
        if isinstance(folder, Path):
            folder.mkdir(parents=True, exist_ok=True)
        self._plan = plan or make_plan(settings.circular_buffer_size, settings.mode is Mode.FULL_TENSOR)
        self.catalog = CatalogWriter(folder, is_user, self._plan.catalog_bytes)
        means = Chooser(settings, folder, self._session, self._plan, self.catalog).choose()
        self.sink = means.sink
        self.steps = Steps(self.sink.set_step)
        self._catalog_meta(means)
        self._watch(means)

    def _watch(self, means: Means) -> None:
        sites, selection = Sites(self.catalog), self.selection
        describer = Describer(sites)
        self.functions = Functions(self.catalog, describer, selection, self._session, means.prober)
        places = Places(self.catalog, sites, selection, self._name_devices)
        watching = self.catalog, sites, places, self.functions, self.steps, self.sink
        self.callbacks = callbacks = EagerCallbacks(*watching)
        patches.watch_removals(self._patches, self.functions.forget)
        patches.hide_our_frames(self._patches)
        patches.watch_gradients(self._patches, GradientTracker(self.sink))
        patches.watch_tapes(self._patches, self.steps.forward_pass, self.steps.gradients_computed)
        self._sessions = SessionCalls(self._watch_sessions(means, sites, places, describer))
        patches.watch_sessions(self._patches, self._sessions)
        patches.watch_conversions(self._patches, callbacks.feeds.converted)
        patches.watch_eager(self._patches, lambda real: means.hooks(real, callbacks))

    def _watch_sessions(
        self, means: Means, sites: Sites, places: Places, describer: Describer
    ) -> Sessions | UnwatchedSessions:
        if means.optimizing is None or not isinstance(means.sink, NativeSink):
            return UnwatchedSessions(self.catalog)
        values = SessionValues(places, means.sink)
        watching = self.catalog, sites, describer, self.selection, self._session, means.optimizing
        return Sessions(self.catalog, sites, places, self.steps, SessionRuns(*watching, values), self.callbacks)

    def tell(self, watcher: Watcher, level: int, small: int) -> None:
        """From now on let `watcher` know of what matters, and raise in the program what it returns."""
        self.callbacks.watcher = watcher
        self.sink.guard(level, small)
        patches.watch_values(self._told, lambda tensor: harmless(watcher.becomes_python, tensor))
        patches.watch_losses(self._told, lambda target: harmless(watcher.differentiates, target))

    def tell_nobody(self) -> None:
        self._told.undo()
        self.callbacks.watcher = None
        self.sink.guard(0, 0)

    def pause_sessions(self, paused: bool) -> None:
        """Look at nothing that sessions run, or at all again."""
        self._sessions.sessions.paused = paused

    def _name_devices(self) -> None:
        devices = tf.devices()
        self.catalog.meta({"devices": devices})
        self.sink.name_devices([device.rpartition("device:")[2] for device in devices])

    def _catalog_meta(self, means: Means) -> None:
        self.catalog.meta(
            {
                "version": 1,
                "pid": os.getpid(),
                "argv": list(sys.argv),
                "python": sys.version.split()[0],
                "tensorflow": ".".join(map(str, tf.version())),
                "settings": self.settings.describe(),
                "started": time.time(),
                "kernel": means.kernel,
                "probe": means.probe,
                "value_bytes": self._plan.value_bytes,
            }
        )

    def forked(self) -> None:
        """The program forked: its child is not recorded, and that is said."""
        self.catalog.not_covered("processes that the program forks", "TensorFlow does not work across a fork")

    def abandon(self) -> None:
        """In a forked child: leave TensorFlow as it was, and the parent's files alone."""
        self._told.undo()
        self._patches.undo()
        patches.unwatch_gradients()
        self.sink.abandon()

    def close(self) -> None:
        """Stop watching; the trace is complete."""
        self.tell_nobody()
        self._patches.undo()
        patches.unwatch_gradients()
        self.sink.close()
        self.functions.close()
        self._sessions.close()
        self.catalog.meta({"ended": time.time(), "steps": self.steps.count})
        self.catalog.close()
