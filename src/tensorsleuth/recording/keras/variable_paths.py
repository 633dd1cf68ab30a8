"""Keras's names of variables. TensorFlow only knows Keras 3's variables as `kernel` and `bias`."""

from __future__ import annotations

import sys
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from tensorsleuth.recording.keras import internals as keras
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter


class KerasVariables:
    """Records once for each variable its path, and whether it belongs to the optimizer or a metric."""

    def __init__(self, catalog: CatalogWriter) -> None:
        self._catalog = catalog
        self._noted: dict[int, tuple[str, str]] = {}
        self._unfinished: list[Any] = []
        self._keras_variables: WeakValueDictionary[int, Any] = WeakValueDictionary()  # Keras 3's, by handle
        self._models: WeakSet[Any] = WeakSet()  # models that have run a loop

    def note_variable(self, variable: Any) -> None:
        """Note a variable that Keras has created."""
        self._note(variable, keras.variable_path(variable), keras.maker_role(sys._getframe(1)))

    def note_unfinished(self, variable: Any) -> None:
        """Note a variable that Keras is still creating. It has no handle yet, so `path_of` reads it later."""
        self._unfinished.append(variable)

    def note_model(self, model: Any) -> None:
        """Note the variables of a model that runs a loop. They may be older than the recording."""
        self._models.add(model)
        for variable, path, role in keras.model_variables(model):
            self._note(variable, path, role)

    def note_slots(self, optimizer: Any) -> None:
        """Note the variables that an optimizer of Keras 2 has made since the last time."""
        for variable in reversed(keras.optimizer_variables(optimizer)):
            uid = keras.variable_uid(variable)
            if uid is not None and self._noted.get(uid, ("", ""))[1] == "optimizer":
                break
            self._note(variable, keras.variable_path(variable), "optimizer")

    def path_of(self, uid: int | None) -> str | None:
        """Return Keras's path of the variable with this handle, if it is known."""
        self._note_unfinished()
        noted = self._noted.get(-1 if uid is None else uid)
        return noted[0] if noted is not None else None

    def frozen_uids(self) -> set[int]:
        """Return the handles of variables with `layer.trainable = False`, which TensorFlow does not know.

        In Keras 3 the variables know it, in Keras 2 only the models do.
        """
        self._note_unfinished()
        own = {uid for uid, variable in self._keras_variables.items() if not getattr(variable, "trainable", True)}
        return own | {uid for model in list(self._models) for uid in keras.frozen_uids(model)}

    def note_source(self, variable: Any) -> None:
        """Note the path of a Keras 3 variable when a tape computes its gradient. It may be older than the recording."""
        if isinstance(getattr(variable, "path", None), str):
            self._note(variable, keras.variable_path(variable), "")

    def _note_unfinished(self) -> None:
        while self._unfinished:
            self.note_variable(self._unfinished.pop())

    def _note(self, variable: Any, path: str, role: str) -> None:
        uid = keras.variable_uid(variable)
        if uid is not None and hasattr(variable, "path"):
            self._keras_variables[uid] = variable
        if uid is not None and self._noted.get(uid) != (path, role):
            self._noted[uid] = path, role
            self._catalog.variable(uid, path, role)
