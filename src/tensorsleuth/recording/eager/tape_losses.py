"""The losses of a program: what tapes are asked to differentiate, with respect to which variables, and what is None."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.keras import internals as keras
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

MAX_MISSING = 4096  # variables without a gradient that are noted
MAX_TAPES = 64  # of one loss, whose variables are looked at: later tapes are about the same
IN_A_FUNCTION = 0  # stands for an eager op: the graph of the function shows the loss


class TapeLosses:
    """Notes each eager op that made a loss, with the variables; each once."""

    def __init__(self, catalog: CatalogWriter, call_sites: CallSites, sink: Sink) -> None:
        self._catalog = catalog
        self._sink = sink
        self._variables: dict[int, set[int]] = {}
        self._tapes: defaultdict[int, int] = defaultdict(int)
        self._missing = MissingGradients(catalog, call_sites)

    def note_gradients(self, target: Any, sources: Any, gradients: Any) -> None:
        """A tape has given gradients of these, in eager code or while a function is traced."""
        targets = tf.flat(target)
        makers = {self._maker(one) for one in targets} - {None}
        for op in makers:
            self._tapes[op] += 1
            if op == IN_A_FUNCTION or self._tapes[op] <= MAX_TAPES:
                self._note(op, {uid for uid in map(keras.variable_uid, tf.flat(sources)) if uid is not None})
        asked, given = tf.flat(sources), tf.flat(gradients)
        if len(makers) == 1 and len(asked) == len(given):
            self._missing.note(makers.pop(), targets[0], zip(asked, given, strict=True))

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


class MissingGradients:
    """Notes the trainable variables whose gradients are None: at the first None, and if one gets a gradient later."""

    def __init__(self, catalog: CatalogWriter, call_sites: CallSites) -> None:
        self._catalog = catalog
        self._sites = call_sites
        self._missing: set[int] = set()
        self._given: set[int] = set()

    def note(self, op: int, target: Any, gradients: Iterable[tuple[Any, Any]]) -> None:
        """Compare the variables that a tape was asked about with their gradients."""
        missing: dict[int, Any] = {}
        for variable, gradient in gradients:
            uid = keras.variable_uid(variable)
            if uid is not None and gradient is not None:
                self._given.add(uid)
            elif uid is not None and getattr(variable, "trainable", False):
                missing[uid] = variable
        found = self._missing & self._given
        if found:
            self._missing -= found
            self._catalog.gradient_found(sorted(found))
        new = {uid: one for uid, one in missing.items() if uid not in self._given and uid not in self._missing}
        if new and len(self._missing) < MAX_MISSING:
            self._missing |= new.keys()
            said = [
                {"uid": uid, "name": one.name.removesuffix(":0"), "shape": [*one.shape]} for uid, one in new.items()
            ]
            loss = {"op": op, "loss": target.op.name if op == IN_A_FUNCTION else ""}
            self._catalog.missing_gradients(loss | {"site": self._sites.of_caller(), "variables": said})
