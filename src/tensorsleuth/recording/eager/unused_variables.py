"""Variables of eager code that a tape watched, and whose gradients nobody asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tensorsleuth.recording.keras import internals as keras
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

FEWEST_TAPES = 10
FEWEST_ASKED = 2  # who asks about an input, or about one variable by its name, has chosen; a list may miss some


class LeftOut:
    """Counts the tapes that each was left out of, and notes it once, when there are enough: most never are."""

    def __init__(self, catalog: CatalogWriter, frozen: Callable[[], set[int]]) -> None:
        self._catalog = catalog
        self._frozen = frozen
        self._asked: set[int] = set()  # by any tape: a GAN has two
        self._times: Counter[int] = Counter()

    def differentiated(self, tape: Any, sources: Any) -> None:
        """A tape has given gradients of these, outside of functions."""
        asked = [uid for uid in map(keras.uid, tf.flat(sources)) if uid is not None]
        self._asked.update(asked)
        if len(asked) < FEWEST_ASKED:
            return
        watched = {keras.uid(one): one for one in tape.watched_variables() if one.trainable}
        left = {uid: one for uid, one in watched.items() if uid is not None and uid not in self._asked}
        self._times.update(list(left))
        due = {uid: one for uid, one in left.items() if self._times[uid] == FEWEST_TAPES}
        if due:
            self._note(due, asked)

    def _note(self, left: dict[int, Any], asked: Sequence[int]) -> None:
        frozen = self._frozen() | keras.in_frozen_layers(list(left.values()))
        said = [
            {"uid": uid, "name": one.name.removesuffix(":0"), "shape": one.shape.as_list()}
            for uid, one in left.items()
            if uid not in frozen
        ]
        if said:
            self._catalog.left_out({"variables": said, "asked": list(asked)})
