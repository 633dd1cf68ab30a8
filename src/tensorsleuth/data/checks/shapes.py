"""Checks that ranks and sizes are as declared, and that dimensions of one name have one size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Block, Piece
from tensorsleuth.data.check import DATA, CheckContext, DataCheck
from tensorsleuth.data.feature import Dimension, Label


class ShapesCheck(DataCheck):
    def __init__(self, check_context: CheckContext) -> None:
        super().__init__(check_context)
        self._seen: set[tuple[str, tuple[tuple[str, tuple[int, ...]], ...]]] = set()
        self._said: dict[tuple[str, str], Violation] = {}

    def see(self, block: Block) -> None:
        shapes = tuple((name, tuple(piece.shape)) for name, piece in block.pieces.items() if not piece.ragged)
        if (block.part, shapes) in self._seen:
            return
        if len(self._seen) < 10_000:  # bounds the memory, not the check
            self._seen.add((block.part, shapes))
        for name, shape in shapes:
            self._one(block, name, shape)
        self._agree(block, shapes)

    def _one(self, block: Block, name: str, shape: tuple[int, ...]) -> None:
        feature = self.case.feature(name)
        if feature is not None and feature.shape is not None and not shape_matches(feature.shape, shape):
            rows = "" if len(shape) else " (a single value)"
            change = _advice(feature.shape, shape)
            found = f"{_show(shape)}{rows}{_at(block, block.pieces[name])}"
            self._say(block.part, Violation("shape", name, f"shape {_show(feature.shape)}", found, change=change))

    def _agree(self, block: Block, shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> None:
        sizes: dict[str, tuple[str, int]] = {}
        for name, shape in shapes:
            feature = self.case.feature(name)
            declared = feature.shape if feature is not None and feature.shape is not None else self._implied(name)
            for dimension, size in zip(declared, shape):
                if isinstance(dimension, str):
                    first, expected = sizes.setdefault(dimension, (name, size))
                    if size != expected:
                        self._differ(block.part, name, dimension, (first, expected), size)

    def _implied(self, name: str) -> tuple[Dimension, ...]:
        """Return the dimensions implied by labels without a schema: a label for each row."""
        if self.case.schema is not None:
            return ()
        names = [column.name for column in self.case.columns[DATA]]
        labelled = len(names) == 2 and any(isinstance(self.case.feature(one), Label) for one in names)
        return ("rows",) if labelled else ()

    def _differ(self, part: str, name: str, dimension: str, first: tuple[str, int], size: int) -> None:
        change = "Rows are matched by their index: find out which are missing."
        expected, found = f"{first[1]:,} in dimension {dimension!r}, as {first[0]} has", f"{size:,}"
        self._say(part, Violation("shape", name, expected, found, change=change))

    def _say(self, part: str, violation: Violation) -> None:
        self._said.setdefault((part, violation.name), violation if part == DATA else replace(violation, where=part))

    def end(self) -> Iterator[Violation]:
        yield from self._said.values()


def shape_matches(declared: tuple[Dimension, ...], shape: tuple[int, ...]) -> bool:
    sizes = zip(declared, shape)
    return len(declared) == len(shape) and all(not isinstance(one, int) or one == size for one, size in sizes)


def _show(shape: tuple[Dimension, ...]) -> str:
    return f"[{', '.join('any' if one is None else str(one) for one in shape)}]"


def _at(block: Block, piece: Piece) -> str:
    return f" at row {block.start:,}" if block.start and piece.shape == piece.array.shape else ""


def _advice(declared: tuple[Dimension, ...], shape: tuple[int, ...]) -> str:
    if len(shape) == len(declared) - 1 and shape_matches(declared[:-1], shape) and declared[-1] == 1:
        return "Add the last dimension: x[..., None]."
    if len(shape) == len(declared) - 1:
        return "One dimension is missing: is this a single row, or images without channels?"
    if len(shape) == len(declared) and sorted(map(str, declared[1:])) == sorted(map(str, shape[1:])):
        return "The dimensions are in another order: transpose it."
    return "Reshape or resize it, or change the schema."


CHECK = ShapesCheck
