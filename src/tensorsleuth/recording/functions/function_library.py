"""The program's functions in the catalogue, and the copies of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorsleuth.recording.functions.descriptions import FunctionDescriber
from tensorsleuth.recording.functions.function_def import Definition, called_functions, read_definition
from tensorsleuth.recording.functions.function_outline import FunctionOutline, OutlineReader
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

MAX_DEPTH = 64
# The most nodes in all copies together. Functions beyond it run unwatched, and are listed as not covered.
MAX_WATCHED_NODES = 1_000_000


NodePath = tuple[Any, ...]  # the nodes from the function that Python calls down to an op
SITE_FIELD, FORWARD_FIELD = 6, 7  # indices in a node's description; descriptions.py


@dataclass(frozen=True, slots=True)
class CataloguedFunction:
    """A function in the catalogue."""

    id: int
    definition: Definition
    kind: str


class FunctionLibrary:
    """The facts about each function, by its name."""

    def __init__(
        self, catalog: CatalogWriter, function_describer: FunctionDescriber, session: int, runs_again: bool
    ) -> None:
        self.catalog = catalog
        self.can_replay = runs_again  # calls can be replayed, which needs the native library
        self.session = session
        self.nodes = 0  # in all copies together
        self._describer = function_describer
        self._outlines = OutlineReader()
        self._known: dict[str, CataloguedFunction] = {}
        self._kinds: dict[str, str] = {}
        self._copies: dict[str, list[str]] = {}
        self._slots: dict[NodePath, tuple[int, tuple[int, ...]]] = {}
        self._next_slot = 1
        self._fields: dict[str, dict[str, Any]] = {}  # the catalogue's descriptions

    def find_function(self, name: str, graph: Any) -> CataloguedFunction | None:
        known = self._known.get(name)
        if known is None:
            proto = tf.get_function(name)
            if proto is None:
                return None
            definition = read_definition(proto)
            fields = self._fields.get(name) or self._describer.describe(definition, graph)
            self._fields[name] = fields
            known = self._known[name] = CataloguedFunction(self.catalog.function(fields), definition, fields["kind"])
        return known

    def note_unseen_inside(self, name: str, why: str) -> None:
        """Say that nothing in a function was recorded; what it writes to variables was not seen either."""
        writes = bool(self.outline(name).written_arguments)
        self.catalog.not_covered(f"the inside of {name}", why, unseen=writes)

    def outline(self, name: str) -> FunctionOutline:
        """Return the outline of a function and of all that it calls, before it runs."""
        return self._outlines.outline_of(name)

    def known_kind(self, name: str) -> str | None:
        """Return the result of `kind` if it was computed before, else None."""
        return self._kinds.get(name)

    def kind(self, name: str, graph: Any, depth: int = 0) -> str:
        """Return the kind of a function together with all that it calls: train, backward, write or plain."""
        if name not in self._kinds:
            self._kinds[name] = self._find_kind(name, graph, depth)
        return self._kinds[name]

    def _find_kind(self, name: str, graph: Any, depth: int) -> str:
        known = self.find_function(name, graph)
        if known is None or depth > MAX_DEPTH:
            return "plain"
        graphs = dict(tf.inner_graphs(graph)) if graph is not None else {}
        nodes = known.definition.proto.node_def
        called = {function.name for node in nodes for _, function in called_functions(node)}
        return combined_kind(known.kind, {self.kind(inner, graphs.get(inner), depth + 1) for inner in called})

    def slot(self, node_path: NodePath, dtypes: tuple[int, ...]) -> int:
        """Return the first slot for the kept outputs of an op. Its path from the root function identifies the op."""
        if node_path not in self._slots:
            self._slots[node_path] = self._next_slot, dtypes
            self._next_slot += len(dtypes)
        return self._slots[node_path][0]

    def kept_inputs(self, root: str) -> list[tuple[NodePath, int, tuple[int, ...]]]:
        """Return the kept ops of a function: their paths, first slots, and the dtypes of their outputs."""
        return [(way, *slot) for way, slot in self._slots.items() if way[0] == root]

    def note_slot(self, node_path: NodePath, slot: int) -> None:
        """Note that the slot already keeps the first input of an op."""
        self._slots.setdefault(node_path, (slot, ()))
        self._next_slot = max(self._next_slot, slot + 1)

    def describe_functions(self, names: list[str]) -> dict[str, Any]:
        """Return the catalogue's descriptions of functions, with the lines that they refer to."""
        functions = {name: self._fields[name] for name in names if name in self._fields}
        sites = {site for fields in functions.values() for node in fields["nodes"] for site in _sites(node)}
        frames = {site: self.catalog.frames(site) for site in sites}
        files = {file for stack in frames.values() for file, _, _ in stack}
        return {"functions": functions, "sites": frames, "files": self.catalog.source_texts(files)}

    def add_descriptions(self, described: dict[str, Any]) -> None:
        """Add descriptions of functions from another run."""
        sites = {
            int(site): self.catalog.site([tuple(frame) for frame in stack])
            for site, stack in described["sites"].items()
        }
        for name, fields in described["functions"].items():
            self._fields[name] = fields | {"nodes": [_renumber_sites(node, sites) for node in fields["nodes"]]}

    def add_copy(self, root: str, copy: Any) -> None:
        """Note the copy of a function that `root` calls."""
        self._copies.setdefault(root, []).append(copy.signature.name)
        tf.add_function(copy)

    def take_copies(self, root: str) -> list[str]:
        """Remove and return the names of a function's copies."""
        return self._copies.pop(root, [])

    def forget(self, name: str) -> list[str]:
        """Forget a function that TensorFlow dropped, and return the names of its copies."""
        self._known.pop(name, None)
        self._kinds.pop(name, None)
        self._outlines.forget(name)
        return self.take_copies(name)

    def copied_roots(self) -> list[str]:
        return list(self._copies)


def _sites(node: list[Any]) -> list[int]:
    """Return the sites of an op and of its forward op."""
    return [site for site in (node[SITE_FIELD], node[FORWARD_FIELD][3] if node[FORWARD_FIELD] else 0) if site]


def _renumber_sites(node: list[Any], sites: dict[int, int]) -> list[Any]:
    """Return a node's description with other numbers for its sites."""
    moved = list(node)
    moved[SITE_FIELD] = sites.get(node[SITE_FIELD], 0)
    if node[FORWARD_FIELD]:
        moved[FORWARD_FIELD] = [*node[FORWARD_FIELD][:3], sites.get(node[FORWARD_FIELD][3], 0)]
    return moved


def combined_kind(own: str, called: set[str]) -> str:
    """Return the kind of a function with all that it calls. A function that calls a backward pass trains."""
    kinds = {own, *called}
    if own == "backward" or not kinds & {"train", "backward", "write"}:
        return own
    return "train" if kinds & {"train", "backward"} else "write"
