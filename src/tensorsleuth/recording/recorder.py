"""A recorder: builds, starts and stops all parts that watch the program."""

from __future__ import annotations

import itertools
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops.kinds import VARIABLE_USES
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.core.version import TRACE_FORMAT, VERSION
from tensorsleuth.core.violation import Violation
from tensorsleuth.recording.backends.backends import Backend, BackendChooser
from tensorsleuth.recording.backends.sink import NativeSink
from tensorsleuth.recording.call_sites import CallSites, is_user_file
from tensorsleuth.recording.cluster.remote_functions import JOB_PREFIX, RemoteTasks
from tensorsleuth.recording.cluster.strategies import StrategyNotes, is_later_replica, task_of_environment
from tensorsleuth.recording.creation_sites import CreationSites
from tensorsleuth.recording.eager.callbacks import EagerCallbacks
from tensorsleuth.recording.eager.feeds import BadReads
from tensorsleuth.recording.eager.op_sites import OpSites
from tensorsleuth.recording.eager.tape_losses import TapeLosses
from tensorsleuth.recording.eager.text_inputs import TextInputs
from tensorsleuth.recording.eager.unused_variables import UnusedVariables
from tensorsleuth.recording.functions.descriptions import FunctionDescriber
from tensorsleuth.recording.functions.function_library import FunctionLibrary
from tensorsleuth.recording.functions.probes import Selection, selection_for
from tensorsleuth.recording.functions.saved_lines import SavedLines
from tensorsleuth.recording.functions.watched_functions import WatchedFunctions
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.keras.fit_batches import FitProgress
from tensorsleuth.recording.keras.patches import KerasPatches
from tensorsleuth.recording.keras.variable_paths import KerasVariables
from tensorsleuth.recording.lazy import Lazy
from tensorsleuth.recording.observer import Observer, Observers, implements
from tensorsleuth.recording.refused_inputs import RefusedInputs
from tensorsleuth.recording.replay.replay_buffer import ReplayBuffer
from tensorsleuth.recording.replay.replay_inputs import ReplayStore
from tensorsleuth.recording.replay.replayer import Replayer
from tensorsleuth.recording.replay.save_step import StepSaver
from tensorsleuth.recording.replay.variable_readings import VariableReadings
from tensorsleuth.recording.sessions.entry_points import SessionCalls
from tensorsleuth.recording.sessions.session_runs import SessionRuns
from tensorsleuth.recording.sessions.session_values import SessionValues
from tensorsleuth.recording.sessions.sessions import Sessions, UnwatchedSessions
from tensorsleuth.recording.settings import Settings
from tensorsleuth.recording.steps import StepCounter
from tensorsleuth.recording.structure.name_scopes import NameScopes
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import patches
from tensorsleuth.recording.tensorflow.gradient_marks import GradientTracker
from tensorsleuth.recording.uncaught_exceptions import ThreadExceptions, describe_exception, uncaught_exception
from tensorsleuth.trace.process.remote_rows import serves_file
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.size_plan import TracePlan, make_plan

_session_numbers = itertools.count(1)
MODEL_OPS = LAYER_PRODUCTS | VARIABLE_USES  # an eager program that runs one of them has a model


class Recorder:
    """Watches this process until it is closed."""

    def __init__(
        self, folder: Folder, settings: Settings, selection: Selection | None = None, plan: TracePlan | None = None
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.selection = self._base = selection or selection_for(settings)
        self.observers = Observers()
        self._awaiting_model: list[Callable[[], None]] = []
        self._has_model = False
        self._session = next(_session_numbers)
        self._patches = patches.Patches()
        self._pausable_patches = patches.Patches()  # removed during a pause
        self._threads = ThreadExceptions(self._thread_died)
        if isinstance(folder, Path):
            folder.mkdir(parents=True, exist_ok=True)
        self._plan = plan or make_plan(settings.circular_buffer_size, settings.mode is Mode.FULL_TENSOR)
        self.catalog = CatalogWriter(folder, is_user_file, self._plan.catalog_bytes)
        means = BackendChooser(settings, folder, self._session, self._plan, self.catalog).choose()
        self.sink = means.sink
        self.steps = StepCounter(self.sink.set_step, self.observers)
        self._is_closed = False
        self._catalog_meta(means)
        self._watch(means)

    def _watch(self, backend: Backend) -> None:
        self.sites = sites = CallSites(self.catalog)
        self.scopes = scopes = NameScopes(self.catalog, self.sink)
        self._refused = Lazy(lambda: RefusedInputs(sites, lambda uid: self.callbacks.feeds.maker_of(uid)))
        self._saved_lines = Lazy(lambda: SavedLines(sites))
        self._plan_parts(backend)
        self.places = OpSites(self.catalog, sites, self.selection, scopes, self._name_devices, self._new_place)
        watching = self.catalog, sites, self.places, self._functions, self.steps, self.sink
        seeing = self.observers, self._remote, self._replay_buffer, self._texts
        self.callbacks = callbacks = EagerCallbacks(*watching, *seeing)
        patches.watch_tf_functions(self._patches, callbacks.function_made)
        patches.watch_removals(self._patches, self._removed)
        patches.watch_tracebacks(self._patches, tf.traceback_utils, self._note_raised)
        self._keras.start()
        patches.watch_saving(self._patches, lambda function: self._saved_lines().note_saved(function))
        patches.watch_loading(self._patches, lambda folder, info: self._saved_lines().note_loaded(folder, info))
        patches.watch_gradients(self._patches, GradientTracker(self.sink))
        losses = Lazy(lambda: TapeLosses(self.catalog, sites, self.sink))
        noting = self._forward_pass, self._gradients_computed, lambda *tape: losses().note_gradients(*tape)
        patches.watch_tapes(self._patches, *noting, self.observers)
        bad_reads = BadReads(self.catalog, sites, self.sink, self.settings.sees_all_values)
        patches.watch_values(self._patches, self.observers, bad_reads, self.sink.native)
        patches.watch_scopes(self._patches, scopes)
        if self._texts is not None:
            patches.watch_python_functions(self._patches, self._texts, sites.of_caller)
        patches.watch_sessions(self._patches, self._sessions)
        patches.watch_strategies(self._patches, lambda extended: self._strategies().note_use(extended), self._serves)
        self._hooks = cache(lambda real: backend.hooks(real, callbacks))
        self.resume()

    def _plan_parts(self, backend: Backend) -> None:
        """Defer the creation of those parts that many programs never need."""
        looks = isinstance(self.folder, Path) and Mode.CURT_HEALTH <= self.settings.mode <= Mode.FULL_TENSOR
        self._functions = Lazy(lambda: self._make_functions(backend))
        make_keeper = backend.make_store
        self._variables = Lazy(lambda: KerasVariables(self.catalog))
        batches, creations = Lazy(lambda: FitProgress(self.sink)), Lazy(lambda: CreationSites(self.catalog))
        using = batches, self._variables, creations
        self._keras = KerasPatches(self._patches, *using, self.steps.plan, self._note_raised)
        self._replay_buffer = Lazy(lambda: self._make_replay_buffer(make_keeper)) if make_keeper is not None else None
        self._remote = Lazy(lambda: RemoteTasks(self.folder, self.catalog, backend.probe == "host"))
        self._texts = Lazy(lambda: TextInputs(self.catalog, self.sink, self._is_remote)) if looks else None
        self._unused_variables = Lazy(lambda: UnusedVariables(self.catalog, self.variables.frozen_uids))
        self._strategies = Lazy(lambda: StrategyNotes(self.catalog.meta, self.sites.note_thread_start))
        self._sessions = Lazy(lambda: self._make_sessions(backend))
        self._are_sessions_paused = False

    def _make_functions(self, backend: Backend) -> WatchedFunctions:
        self._meet_model()
        function_library = FunctionLibrary(
            self.catalog, self._describer(), self._session, backend.make_store is not None
        )
        flight = self.settings.mode is Mode.FLIGHT and backend.make_store is not None
        watched_functions = WatchedFunctions(
            function_library, self.selection, backend.make_prober(), flight, self._replay_selection
        )
        watched_functions.keeps_all_inputs = self._keeps_steps()
        if self._is_closed:  # a thread calls a function after the end
            watched_functions.close()
        return watched_functions

    def _new_place(self, op: str, scope: str) -> None:
        self._keras.apply()
        if scope or op in MODEL_OPS:
            self._meet_model()

    def _describer(self) -> FunctionDescriber:
        return FunctionDescriber(self.sites, self.scopes, self.variables.frozen_uids, self._saved_lines)

    def _is_remote(self, device: str) -> bool:
        return JOB_PREFIX in device and self._remote().task(device) is not None

    def _removed(self, function: str) -> None:
        if self._functions.value is not None:
            self._functions.value.forget(function)

    @property
    def variables(self) -> KerasVariables:
        """The paths of Keras's variables."""
        return self._variables()

    @property
    def functions(self) -> WatchedFunctions:
        """Return the watched copies of functions."""
        return self._functions()

    @property
    def replay_buffer(self) -> ReplayBuffer | None:
        """Return the buffer of replayable calls; None without the native library."""
        return self._replay_buffer() if self._replay_buffer is not None else None

    @property
    def can_replay(self) -> bool:
        return self._replay_buffer is not None

    def resume(self) -> None:
        """Record the program's ops from now on."""
        if not self._pausable_patches:
            patches.watch_conversions(self._pausable_patches, self.callbacks.feeds.note_conversion)
            patches.watch_eager(self._pausable_patches, self._hooks)

    def pause(self) -> None:
        """Stop recording the program's ops, so that it runs as fast as bare. Still note scopes and gradients."""
        if not any(observer.sees_all for observer in self.observers):
            self._pausable_patches.undo()

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Run ops that are not the program's."""
        sees = bool(self._pausable_patches)
        self.pause()
        try:
            yield
        finally:
            if sees:
                self.resume()

    def _make_replay_buffer(self, make_keeper: Callable[[], ReplayStore]) -> ReplayBuffer:
        keeper = make_keeper()
        saver = StepSaver(self.folder, self.functions.library, keeper) if isinstance(self.folder, Path) else None
        variable_readings = VariableReadings(self.catalog, self.places, keeper)
        watching = self.catalog, self.functions, self.places, self.sink, keeper
        replayer = Replayer(*watching, saver, lambda: self.steps.number)
        return ReplayBuffer(self.catalog, self.functions, keeper, variable_readings, replayer, self.observers)

    def attach(self, observer: Observer) -> None:
        """Attach an observer to this recorder."""
        self.observers.add(observer)
        if observer.sees_all:
            self.resume()
        if implements(observer, "selection"):
            self.select(eager=observer.selects_eager)

    def when_model_met(self, act: Callable[[], None]) -> None:
        """Act as soon as the program shows a model: a function, a tape, a variable, a product."""
        if self._has_model:
            act()
        else:
            self._awaiting_model.append(act)

    def _meet_model(self) -> None:
        self._has_model = True
        while self._awaiting_model and not self._is_closed:
            harmless(self._awaiting_model.pop())

    def detach(self, observer: Observer) -> None:
        """Detach an observer from this recorder."""
        self.observers.remove(observer)
        if implements(observer, "selection"):
            self.select(eager=observer.selects_eager)

    def select(self, eager: bool = True) -> None:
        """Apply the current selections of all observers to every function anew, and to every eager place."""
        selection = self._base
        for observer in self.observers:
            selection = observer.selection(selection)
        self.selection = selection
        if self._functions.value is not None:
            self._functions.value.keeps_all_inputs = self._keeps_steps()
            self._functions.value.select(selection)
        if eager:
            self.places.select(selection)
            self.sink.forget_places()

    def _replay_selection(self) -> Selection | None:
        replays = (observer.replay_selection() for observer in self.observers)
        return next((replay for replay in replays if replay is not None), None)

    def _keeps_steps(self) -> bool:
        return any(observer.keeps_steps() for observer in self.observers)

    def save_step(self, call: int) -> bool:
        """Save a running call when it ends. Return False if it cannot be saved."""
        flights = self._replay_buffer.value if self._replay_buffer is not None else None
        return flights is not None and isinstance(self.folder, Path) and flights.save(call)

    def keep_values(self, bound: int) -> None:
        """Prepare the recording to keep values, if its mode keeps none."""
        if not self._plan.value_bytes:
            self.sink.keep_values(self.folder, bound)
            self.catalog.meta({"value_bytes": bound})

    def _make_sessions(self, backend: Backend) -> SessionCalls:
        self._meet_model()
        sessions = self._watched_sessions(backend)
        sessions.paused = self._are_sessions_paused
        return SessionCalls(sessions)

    def _watched_sessions(self, backend: Backend) -> Sessions | UnwatchedSessions:
        if backend.optimizer_library is None or not isinstance(backend.sink, NativeSink):
            return UnwatchedSessions(self.catalog)
        values = SessionValues(self.places, backend.sink)
        watching = self.catalog, self.sites, self._describer(), self._base, self._session, backend.optimizer_library
        runs = SessionRuns(*watching, values)
        return Sessions(self.catalog, self.sites, self.places, self.steps, runs, self.observers)

    def _gradients_computed(self, tape: Any, sources: Any) -> None:
        self.steps.gradients_computed()
        harmless(self._unused_variables().note_gradients, tape, sources)

    def _forward_pass(self, is_eager: bool) -> None:
        self._meet_model()
        if is_eager and not is_later_replica():
            self.steps.forward_pass()

    def _note_raised(self, error: BaseException, trace: Any) -> None:
        self._refused().note(error, trace)

    def _thread_died(self, error: BaseException) -> None:
        if isinstance(error, tf.TensorFlowErrors):
            self.catalog.meta({"thread_died_of": str(getattr(error, "message", error))})

    def note_violation(self, violation: Violation) -> None:
        """Write a violation into the trace."""
        self.catalog.violation(violation.to_json() | {"step": self.steps.number, "clock": time.monotonic_ns()})

    def pause_sessions(self, paused: bool) -> None:
        """Pause or resume the recording of what sessions run."""
        self._are_sessions_paused = paused
        if self._sessions.value is not None:
            self._sessions.value.sessions.paused = paused

    def _name_devices(self) -> None:
        devices = tf.devices()
        task = task_of_environment() if os.environ.get("TF_CONFIG") else {}
        self.catalog.meta({"devices": devices, "pool": tf.pools_memory()} | task)
        self.sink.name_devices([device.rpartition("device:")[2] for device in devices])

    def _serves(self, job: str, index: int) -> None:
        """Announce that this process runs functions for others, so that they may send watched copies."""
        self.catalog.meta({"task": {"type": job, "index": index, "of": 0}})
        if isinstance(self.folder, Path):
            (self.folder / serves_file(job, index)).touch()

    def _catalog_meta(self, backend: Backend) -> None:
        self.catalog.meta(
            {
                "version": TRACE_FORMAT,
                "tensorsleuth": VERSION,
                "pid": os.getpid(),
                "host": platform.node(),
                "argv": list(sys.argv),
                "python": sys.version.split()[0],
                "tensorflow": ".".join(map(str, tf.version())),
                "settings": self.settings.describe(),
                "started": time.time(),
                "kernel": backend.kernel,
                "probe": backend.probe,
                "value_bytes": self._plan.value_bytes,
            }
        )

    def forked(self) -> None:
        """Note that the program forked, and that its child is not recorded."""
        self.catalog.not_covered("processes that the program forks", "TensorFlow does not work across a fork")

    def abandon(self) -> None:
        """Undo the patches in a forked child, and leave the parent's files alone."""
        self._pausable_patches.undo()
        self._keras.stop()
        self._patches.undo()
        patches.unwatch_gradients()
        self._threads.close()
        self.sink.abandon()

    def close(self) -> None:
        """Stop watching, and complete the trace."""
        self._is_closed = True
        for observer in self.observers:
            harmless(observer.detach)
        self._pausable_patches.undo()
        self._keras.stop()
        self._patches.undo()
        patches.unwatch_gradients()
        if self._replay_buffer is not None and self._replay_buffer.value is not None:
            self._replay_buffer.value.close()
        self._threads.close()
        if self._texts is not None and self._texts.value is not None:
            harmless(self._texts.value.close)
        self.sink.close()
        if self._functions.value is not None:
            self._functions.value.close()
        if self._sessions.value is not None:
            self._sessions.value.close()
        error = uncaught_exception()
        if error is not None:
            harmless(lambda: self.catalog.meta({"uncaught": describe_exception(error, self.sites, self._refused())}))
        self.catalog.meta({"ended": time.time(), "steps": self.steps.count})
        self.catalog.close()
