"""Variables of eager code that a tape watched, but whose gradients the program never requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tensorsleuth.recording.keras import internals as keras
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

MIN_TAPES = 10
MIN_SOURCES = 2  # one source is a deliberate choice, but a longer list may lack a variable by mistake


class UnusedVariables:
    """Counts how many tapes each variable was left out of, and records it once when the count is high enough."""

    def __init__(self, catalog: CatalogWriter, frozen: Callable[[], set[int]]) -> None:
        self._catalog = catalog
        self._frozen = frozen
        self._sources: set[int] = set()  # of all tapes together, because a GAN has two
        self._missed: Counter[int] = Counter()

    def note_gradients(self, tape: Any, sources: Any) -> None:
        """Compare the sources of a tape with its watched variables, outside of functions."""
        asked = [uid for uid in map(keras.variable_uid, tf.flat(sources)) if uid is not None]
        self._sources.update(asked)
        if len(asked) < MIN_SOURCES:
            return
        watched = {keras.variable_uid(one): one for one in tape.watched_variables() if one.trainable}
        left = {uid: one for uid, one in watched.items() if uid is not None and uid not in self._sources}
        self._missed.update(list(left))
        due = {uid: one for uid, one in left.items() if self._missed[uid] == MIN_TAPES}
        if due:
            self._note(due, asked)

    def _note(self, left: dict[int, Any], asked: Sequence[int]) -> None:
        frozen = self._frozen() | keras.uids_in_frozen_layers(list(left.values()))
        said = [
            {"uid": uid, "name": one.name.removesuffix(":0"), "shape": one.shape.as_list()}
            for uid, one in left.items()
            if uid not in frozen
        ]
        if said:
            self._catalog.unused_tape_variables({"variables": said, "asked": list(asked)})
