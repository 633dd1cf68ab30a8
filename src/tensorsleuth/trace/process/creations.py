"""The expressions of the program that made its layers, models, optimizers and losses."""

from __future__ import annotations

import re
from collections import defaultdict

from tensorsleuth.core.catalog import OPERATION, Creation, Frame
from tensorsleuth.core.ops.keras_operations import KNOWN_OPERATIONS, operation_of
from tensorsleuth.trace.process.process import ProcessTrace

_CLASS = re.compile(r"^[ \t]*class[ \t]+(\w+)", re.MULTILINE)
_NAMED_KINDS = ("loss", "optimizer")  # whose scopes are told with their kind


class Creations:
    """Looks parts up by their names. `process.cached(Creations)` reads the catalogue once."""

    def __init__(self, process: ProcessTrace) -> None:
        self._by_name: dict[str, list[Creation]] = defaultdict(list)
        self._by_kind: dict[str, list[Creation]] = defaultdict(list)
        self._own_classes = {name for text in process.catalogue.sources.values() for name in _CLASS.findall(text)}
        for one in process.catalogue.creations:
            if one.kind != OPERATION:
                self._by_name[one.name].append(one)
            self._by_kind[one.kind].append(one)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def of_path(self, path: str) -> Creation | None:
        """Return the innermost part of a path, as `sequential/dense_1`, that the program made: a layer, or the end.

        Scopes of others say their kind: `loss mse`. None if several lines made parts of that name.
        """
        kind, _, name = path.partition(" ")
        if name and kind in _NAMED_KINDS:
            return self._of_kind(kind, name)
        *around, last = path.split("/")
        found = self._by_name.get(last) or self._innermost_layers(around)
        return found[0] if len(_lines(found)) == 1 else None

    def _of_kind(self, kind: str, name: str) -> Creation | None:
        """Return an optimizer or loss by its name, else the only one, else the only `compile` that takes any."""
        named = [one for one in self._by_kind.get(kind, []) if one.name == name]
        return named[0] if len(_lines(named)) == 1 else self.only(kind) or self.only("compile")

    def depth(self, path: str, is_below_own: bool) -> int:
        """Return how many parts of a path the program made, in all or below the last one whose class it wrote."""
        names = [name for name in path.split("/") if name in self._by_name]
        own = [at for at, name in enumerate(names, 1) if self._by_name[name][0].type in self._own_classes]
        return len(names) - (own[-1] if own and is_below_own else 0)

    def _innermost_layers(self, names: list[str]) -> list[Creation]:
        made = next((found for name in reversed(names) if (found := self._by_name.get(name))), [])
        return made if all(one.kind == "layer" for one in made) else []

    def operation(self, op: str, model: Creation) -> Creation | None:
        """Return the operation of a functional model that runs an op, if one line made all that do.

        None if the lines around made operations of which it is not known what they run.
        """
        near = [one for one in self._by_kind.get(OPERATION, []) if _scope(one) == _scope(model)]
        name = operation_of(op)
        found = [one for one in near if one.type == name]
        is_known = all(one.type in KNOWN_OPERATIONS for one in near)
        return found[0] if is_known and len(_lines(found)) == 1 else None

    def only(self, kind: str) -> Creation | None:
        """Return the one part of a kind, if one line made all."""
        found = self._by_kind.get(kind, [])
        return found[0] if len(_lines(found)) == 1 else None


def _scope(one: Creation) -> tuple[str, str]:
    return one.frame.file, one.frame.function


def _lines(creations: list[Creation]) -> set[Frame]:
    return {one.frame for one in creations}
