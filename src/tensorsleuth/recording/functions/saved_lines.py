"""The lines of functions that the program saves: loaded again, their ops have names, and no lines."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.tensorflow import internals as tf

MAX_OPS = 200_000  # whose lines are kept
_UNKNOWN = 0
_Key = tuple[str, str, str]  # the function, the name of the op and its type


class SavedLines:
    """Remembers the line of each op of a function that is saved, for when it is loaded."""

    def __init__(self, call_sites: CallSites) -> None:
        self._sites = call_sites
        self._known: dict[_Key, int] = {}

    def note_saved(self, function: Any) -> None:
        """The program saves a function."""
        self._note(tf.as_text(function.name), function.graph)

    def _note(self, name: str, graph: Any) -> None:
        for op in graph.get_operations() if len(self._known) < MAX_OPS else ():
            site = self._sites.of_graph_op(op)
            key = program_name(name), op.name, op.type
            self._known[key] = site if self._known.get(key, site) == site else _UNKNOWN
        for inner_name, inner in tf.inner_graphs(graph):
            self._note(inner_name, inner)

    def site(self, function: str, node: Any) -> int:
        """Return the site of a node of a loaded function; 0 if nothing alike was saved, or at several lines."""
        return self._known.get((program_name(function), node.name, node.op), _UNKNOWN)
