"""Patches of a running Keras, applied after the program has imported it, and undone with all other patches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tensorsleuth.core.fit_position import Phase
from tensorsleuth.recording.creation_sites import CreationSites
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.keras import internals as keras
from tensorsleuth.recording.keras.fit_batches import FitProgress
from tensorsleuth.recording.keras.variable_paths import KerasVariables
from tensorsleuth.recording.lazy import Lazy
from tensorsleuth.recording.tensorflow.patches import Patches, Raised, watch_tracebacks

_PHASES = {"train": Phase.TRAIN, "test": Phase.EVALUATE, "predict": Phase.PREDICT}


class KerasPatches:
    """Finds the parts of Keras that were loaded recently, and patches each once."""

    def __init__(
        self,
        patches: Patches,
        batches: Lazy[FitProgress],
        variables: Lazy[KerasVariables],
        creations: Lazy[CreationSites],
        plan: Callable[[int, int], None],
        raised: Raised,
    ) -> None:
        self._patches = patches
        self._creations = creations
        self._variables = variables
        self._batches = batches
        self._plan = plan  # gets the number of remaining and of all steps of a fit
        self._raised = raised
        self._changed: set[tuple[int, str]] = set()  # ids of modules and classes, which are never unloaded; methods

    def start(self) -> None:
        """Apply the patches now, and again when the program imports Keras, before it makes its first layer."""
        self.apply()
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find nothing: Python asks for each module that is not loaded yet, which tells that Keras is being imported.

        Keras loads all of its code before the last of its public modules, `keras.utils` and the like.
        """
        package, _, module = name.partition(".")
        if package in keras.KERAS_PACKAGES and module and "." not in module:
            harmless(self.apply)
        return None

    def apply(self) -> None:
        """Patch newly loaded parts. The recorder calls this often, so that it happens before the first `fit`."""
        for callbacks in keras.callback_lists():
            self._once(callbacks, self._watch_callbacks)
        for variable in keras.variable_classes():
            self._once(variable, self._watch_variables)
        for kind, owner, method in keras.naming_methods():
            self._watch_naming(kind, owner, method)
        for owner, method in keras.slot_methods():
            self._watch_slots(owner, method)
        for module in keras.traceback_modules():
            self._once(module, lambda module: watch_tracebacks(self._patches, module, self._raised))

    def _once(self, part: Any, change: Callable[[Any], None], method: str = "") -> None:
        if (id(part), method) not in self._changed:
            self._changed.add((id(part), method))
            harmless(change, part)

    def _watch_naming(self, kind: str, owner: type, method: str) -> None:
        def named(part: Any) -> None:
            self._creations().note(keras.part_kind(kind, part), part)

        self._once(owner, lambda owner: self._patches.listen(owner, method, after=[named]))

    def _watch_slots(self, owner: type, method: str) -> None:
        def made(optimizer: Any) -> None:
            self._variables().note_slots(optimizer)

        self._once(owner, lambda owner: self._patches.listen(owner, method, after=[made]), method)

    def _watch_variables(self, variable: type) -> None:
        self._patches.listen(variable, "_initialize", after=[lambda one: self._variables().note_variable(one)])
        for begun in keras.variables_being_made(variable):
            self._variables().note_unfinished(begun)

    def _watch_callbacks(self, callbacks: type) -> None:
        begins = [self._planned, lambda one, epoch: self._batches().begin_epoch(one, epoch)]
        self._patches.listen(callbacks, "on_epoch_begin", begins)
        for name, phase in _PHASES.items():
            self._watch_loop(callbacks, name, phase)

    def _planned(self, callbacks: Any, epoch: int) -> None:
        steps = keras.planned_steps(callbacks)
        if steps is not None:
            epochs, calls = steps
            self._plan((epochs - epoch) * calls, epochs * calls)

    def _built(self, callbacks: Any, batch: int) -> None:
        """Note the variables of a model after its first batch, when it has all of them."""
        if batch == 1:
            self._variables().note_model(callbacks.model)

    def _watch_loop(self, callbacks: type, name: str, phase: Phase) -> None:
        note, trains = self._batches, lambda one, _: self._variables().note_model(one.model)
        batch = [
            lambda one, number: note().begin_batch(one, phase, number),
            *([self._built] if phase is Phase.TRAIN else []),
        ]
        self._patches.listen(callbacks, f"on_{name}_begin", [lambda one, _: note().begin_loop(one, phase), trains])
        self._patches.listen(callbacks, f"on_{name}_batch_begin", batch)
        self._patches.listen(callbacks, f"on_{name}_end", [trains], ended=[lambda _: note().end_loop()])
