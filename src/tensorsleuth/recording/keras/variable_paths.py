"""Keras's names of variables. To TensorFlow, those of Keras 3 are all `kernel` and `bias`."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet, WeakValueDictionary

from tensorsleuth.recording.keras import internals as keras
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter


class KerasVariables:
    """Notes the path of each variable, and whether it is the optimizer's or a metric's; each once."""

    def __init__(self, catalog: CatalogWriter) -> None:
        self._catalog = catalog
        self._noted: dict[int, tuple[str, str]] = {}
        self._unfinished: list[Any] = []
        self._keras_variables: WeakValueDictionary[int, Any] = WeakValueDictionary()  # Keras 3's, around TensorFlow's
        self._models: WeakSet[Any] = WeakSet()  # that have been in a loop

    def note_variable(self, variable: Any) -> None:
        """Keras has made a variable."""
        self._note(variable, keras.variable_path(variable), "")

    def note_unfinished(self, variable: Any) -> None:
        """Keras is about to make a variable, which has no handle yet: it is noted when somebody asks."""
        self._unfinished.append(variable)

    def note_model(self, model: Any) -> None:
        """A model is in a loop: it has its variables, maybe from before the recording."""
        self._models.add(model)
        for variable, path, role in keras.model_variables(model):
            self._note(variable, path, role)

    def path_of(self, uid: int | None) -> str | None:
        """Return Keras's path of the variable with this handle, if it is known."""
        self._note_unfinished()
        noted = self._noted.get(-1 if uid is None else uid)
        return noted[0] if noted is not None else None

    def frozen_uids(self) -> set[int]:
        """The handles of variables of which `layer.trainable = False` was said; TensorFlow's own do not know.

        Variables of Keras 3 know it themselves; of Keras 2, models do.
        """
        self._note_unfinished()
        own = {uid for uid, variable in self._keras_variables.items() if not getattr(variable, "trainable", True)}
        return own | {uid for model in list(self._models) for uid in keras.frozen_uids(model)}

    def note_source(self, variable: Any) -> None:
        """A tape is asked about a variable: one of Keras 3 knows its path, whenever it was made."""
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
