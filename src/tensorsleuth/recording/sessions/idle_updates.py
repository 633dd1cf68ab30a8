"""Optimizers of TensorFlow 1 that a program builds and never runs, while it fetches the loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from tensorsleuth.core.ops.kinds import applies_gradients
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.functions.descriptions import forward_op
from tensorsleuth.recording.sessions.session_runs import SessionRun
from tensorsleuth.recording.tensorflow import sessions as tf_sessions
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

FEWEST_RUNS = 8  # that fetch the loss: a loop, and no look before training
MAX_HOPS_TO_LOSS = 2  # ops that add or scale losses, whose gradients need no op
TRAINS = "train"  # the kind of a run that computes gradients


@dataclass
class _GraphState:
    """The known facts about the runs of a graph, in all of its sessions."""

    has_trained: bool = False
    is_noted: bool = False
    runs: int = 0  # that fetched a number


class IdleUpdates:
    """Notes a graph when its loss has been fetched often and its updates have never run, and if they run later."""

    def __init__(self, catalog: CatalogWriter, call_sites: CallSites) -> None:
        self._catalog = catalog
        self._sites = call_sites
        self._graphs: WeakKeyDictionary[Any, _GraphState] = WeakKeyDictionary()

    def note_run(self, graph: Any, run: SessionRun, fetches: Sequence[Any]) -> None:
        """A session is about to run a part of a graph."""
        state = self._graphs.setdefault(graph, _GraphState())
        if state.has_trained:
            return
        if run.kind == TRAINS:
            state.has_trained = True
            if state.is_noted:
                self._catalog.idle_update({"graph": id(graph), "op": None})
        elif not state.is_noted and any(one.shape.rank == 0 for one in fetches):
            state.runs += 1
            if state.runs % FEWEST_RUNS == 0:  # another part may be fetched first
                self._look(graph, state, run, fetches)

    def _look(self, graph: Any, state: _GraphState, run: SessionRun, fetches: Sequence[Any]) -> None:
        made = graph.get_operations()
        updates = [op for op in made if applies_gradients(op.type)]
        differentiated = {origin.name for op in made if (origin := forward_op(op)) is not None} if updates else set()
        losses = [one.op.name for one in fetches if _is_made_of(one, differentiated)]
        if not losses:
            return
        state.is_noted = True
        update = tf_sessions.train_op(graph) or updates[-1]
        said = {"graph": id(graph), "op": update.name, "site": self._sites.of_graph_op(update), "loss": losses[0]}
        self._catalog.idle_update(said | {"instance": run.instance})


def _is_made_of(tensor: Any, names: set[str], hops: int = MAX_HOPS_TO_LOSS) -> bool:
    """Return whether a number is the output of one of these ops, or is computed from a number that is."""
    if tensor.shape.rank != 0:
        return False
    return tensor.op.name in names or (hops > 0 and any(_is_made_of(one, names, hops - 1) for one in tensor.op.inputs))
