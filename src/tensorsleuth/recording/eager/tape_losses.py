"""The losses of a program: what tapes are asked to differentiate, and with respect to which variables."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.keras import internals as keras
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

MAX_TAPES = 64  # of one loss, whose variables are looked at: later tapes are about the same
IN_A_FUNCTION = 0  # stands for an eager op: the graph of the function shows the loss


class TapeLosses:
    """Notes each eager op that made a loss, with the variables; each once."""

    def __init__(self, catalog: CatalogWriter, sink: Sink) -> None:
        self._catalog = catalog
        self._sink = sink
        self._variables: dict[int, set[int]] = {}
        self._tapes: defaultdict[int, int] = defaultdict(int)

    def note_gradients(self, target: Any, sources: Any) -> None:
        """A tape has given gradients of these, in eager code or while a function is traced."""
        makers = {self._maker(one) for one in tf.flat(target)}
        for op in makers - {None}:
            self._tapes[op] += 1
            if op == IN_A_FUNCTION or self._tapes[op] <= MAX_TAPES:
                self._note(op, {uid for uid in map(keras.variable_uid, tf.flat(sources)) if uid is not None})

    def _maker(self, target: Any) -> Any:
        """Return the eager op that made it; None if that is unknown."""
        if isinstance(target, tf.EagerTensor):
            return self._sink.maker(target._id) or None
        return IN_A_FUNCTION if hasattr(target, "graph") else None

    def _note(self, op: int, variables: set[int]) -> None:
        known = self._variables.setdefault(op, set())
        if not variables <= known:
            known |= variables
            self._catalog.loss({"op": op, "variables": sorted(variables)})
